// Creates the graph HADES_KG, its collections, indexes and search view, as far as they are missing.
// Run it with arangosh in the target database; import.sh does.
'use strict';
const db = require('@arangodb').db;
const graphs = require('@arangodb/general-graph');
const graphName = 'HADES_KG';

for (const name of $DOCUMENTS) {
  if (!db._collection(name)) db._createDocumentCollection(name);
}
for (const name of $EDGES) {
  if (!db._collection(name)) db._createEdgeCollection(name);
}

// papers_raw is not part of the graph: papers are entities of type "paper".
if (!graphs._exists(graphName)) {
  graphs._create(graphName, [
    { collection: 'relations', from: ['entities'], to: ['entities', 'chunks'] },
    { collection: 'mentions', from: ['chunks'], to: ['entities'] },
    { collection: 'cluster_edges', from: ['entities', 'chunks', 'clusters'], to: ['clusters'] },
  ]);
}

const persistent = (name, fields, options) =>
  db._collection(name).ensureIndex({ type: 'persistent', fields, ...options });
for (const field of ['type', 'layer', 'cluster_id', 'deg_out']) persistent('entities', [field]);
persistent('entities', ['name_lower', 'type'], { sparse: true });
for (const field of ['type', 'layer_bridge']) persistent('relations', [field]);
for (const field of ['level', 'centroid_version']) persistent('clusters', [field]);
persistent('chunks', ['doc']);

if (!db._view('entities_view')) {
  const fields = (names) =>
    Object.fromEntries(names.map((name) => [name, { analyzers: ['text_en'] }]));
  db._createView('entities_view', 'arangosearch', {
    links: {
      entities: { fields: fields(['name', 'aliases', 'summary']) },
      chunks: { fields: fields(['heading', 'text']) },
      papers_raw: { fields: fields(['name']) },
    },
  });
}

// Vector indexes need ArangoDB 3.12.4 or later with --experimental-vector-index.
const dimension = $DIMENSION;
if (dimension) {
  for (const name of ['entities', 'chunks']) {
    const count = db._query('RETURN LENGTH(FOR d IN @@name FILTER d.embedding != null RETURN 1)',
                            { '@name': name }).next();
    if (!count) continue;
    try {
      db._collection(name).ensureIndex({
        type: 'vector', fields: ['embedding'], sparse: true,
        params: { metric: 'cosine', dimension, nLists: Math.max(1, Math.ceil(Math.sqrt(count))) },
      });
    } catch (error) {
      print(`No vector index on ${name}: ${error.errorMessage || error}`);
    }
  }
}
