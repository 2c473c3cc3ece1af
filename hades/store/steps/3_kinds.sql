-- Finds whether a user set the kind of an entity, which no text may change then.
CREATE INDEX changes_kinds ON changes (subject) WHERE action = 'set_kind'
