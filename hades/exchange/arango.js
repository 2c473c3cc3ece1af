// Creates the graph HADES_KG, its collections, indexes and search view, as far as they are missing.
// Run it with arangosh in the target database; import.sh does.
'use strict';
const db = require('@arangodb').db;
const graphs = require('@arangodb/general-graph');
const documents = $DOCUMENTS;
const edges = $EDGES;
const graph = $GRAPH;
const indexes = $INDEXES;
const viewName = $VIEW_NAME;
const view = $VIEW;

for (const name of documents) {
  if (!db._collection(name)) db._createDocumentCollection(name);
}
for (const name of edges) {
  if (!db._collection(name)) db._createEdgeCollection(name);
}
if (!graphs._exists('HADES_KG')) graphs._create('HADES_KG', graph);
for (const [name, lists] of Object.entries(indexes)) {
  for (const fields of lists) {
    db._collection(name).ensureIndex({ type: 'persistent', fields, sparse: fields.length > 1 });
  }
}
if (!db._view(viewName)) db._createView(viewName, 'arangosearch', view);

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
