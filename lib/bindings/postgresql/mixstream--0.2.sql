-- The extension mixstream. docs/guide/postgresql.md teaches it; state.c, blob.c, fit.c and predict.c hold the C.
\echo Use "CREATE EXTENSION mixstream" to load this file. \quit

-- A state: what the tool's files hold, byte for byte.
CREATE TYPE mixstream;
CREATE FUNCTION mixstream_in(cstring) RETURNS mixstream
  AS 'MODULE_PATHNAME', 'pg_mixstream_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION mixstream_out(mixstream) RETURNS cstring
  AS 'MODULE_PATHNAME', 'pg_mixstream_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION mixstream_recv(internal) RETURNS mixstream
  AS 'MODULE_PATHNAME', 'pg_mixstream_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION mixstream_send(mixstream) RETURNS bytea
  AS 'MODULE_PATHNAME', 'pg_mixstream_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE mixstream (
  INPUT = mixstream_in, OUTPUT = mixstream_out, RECEIVE = mixstream_recv, SEND = mixstream_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
CREATE FUNCTION mixstream_from_bytea(bytea) RETURNS mixstream
  AS 'MODULE_PATHNAME', 'pg_mixstream_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (bytea AS mixstream) WITH FUNCTION mixstream_from_bytea(bytea);
CREATE CAST (mixstream AS bytea) WITH FUNCTION mixstream_send(mixstream);

-- The aggregates. Their state is a model at rest; few rows stay rows.
CREATE FUNCTION mixstream_combine(internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'pg_mixstream_combine' LANGUAGE C PARALLEL SAFE;
CREATE FUNCTION mixstream_serialize(internal) RETURNS bytea
  AS 'MODULE_PATHNAME', 'pg_mixstream_serialize' LANGUAGE C STRICT PARALLEL SAFE;
CREATE FUNCTION mixstream_deserialize(bytea, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'pg_mixstream_deserialize' LANGUAGE C STRICT PARALLEL SAFE;
CREATE FUNCTION mixstream_final(internal) RETURNS mixstream
  AS 'MODULE_PATHNAME', 'pg_mixstream_final' LANGUAGE C PARALLEL SAFE;

CREATE FUNCTION mixstream_absorb(internal, y float8, x float8[]) RETURNS internal
  AS 'MODULE_PATHNAME', 'pg_mixstream_absorb' LANGUAGE C PARALLEL SAFE;
CREATE FUNCTION mixstream_absorb(internal, y float8, x float8[], weight float8) RETURNS internal
  AS 'MODULE_PATHNAME', 'pg_mixstream_absorb' LANGUAGE C PARALLEL SAFE;
CREATE FUNCTION mixstream_absorb(internal, y float8, x float8[], weight float8, id bigint) RETURNS internal
  AS 'MODULE_PATHNAME', 'pg_mixstream_absorb' LANGUAGE C PARALLEL SAFE;
CREATE FUNCTION mixstream_absorb(internal, y float8, x float8[], weight float8, id bigint, options jsonb)
  RETURNS internal AS 'MODULE_PATHNAME', 'pg_mixstream_absorb' LANGUAGE C PARALLEL SAFE;

CREATE AGGREGATE mixstream_state(y float8, x float8[]) (
  SFUNC = mixstream_absorb, STYPE = internal, SSPACE = 4096, FINALFUNC = mixstream_final,
  COMBINEFUNC = mixstream_combine, SERIALFUNC = mixstream_serialize, DESERIALFUNC = mixstream_deserialize,
  PARALLEL = SAFE);
CREATE AGGREGATE mixstream_state(y float8, x float8[], weight float8) (
  SFUNC = mixstream_absorb, STYPE = internal, SSPACE = 4096, FINALFUNC = mixstream_final,
  COMBINEFUNC = mixstream_combine, SERIALFUNC = mixstream_serialize, DESERIALFUNC = mixstream_deserialize,
  PARALLEL = SAFE);
CREATE AGGREGATE mixstream_state(y float8, x float8[], weight float8, id bigint) (
  SFUNC = mixstream_absorb, STYPE = internal, SSPACE = 4096, FINALFUNC = mixstream_final,
  COMBINEFUNC = mixstream_combine, SERIALFUNC = mixstream_serialize, DESERIALFUNC = mixstream_deserialize,
  PARALLEL = SAFE);
CREATE AGGREGATE mixstream_state(y float8, x float8[], weight float8, id bigint, options jsonb) (
  SFUNC = mixstream_absorb, STYPE = internal, SSPACE = 4096, FINALFUNC = mixstream_final,
  COMBINEFUNC = mixstream_combine, SERIALFUNC = mixstream_serialize, DESERIALFUNC = mixstream_deserialize,
  PARALLEL = SAFE);

CREATE FUNCTION mixstream_add(internal, mixstream) RETURNS internal
  AS 'MODULE_PATHNAME', 'pg_mixstream_add' LANGUAGE C PARALLEL SAFE;
CREATE AGGREGATE mixstream_merge(mixstream) (
  SFUNC = mixstream_add, STYPE = internal, SSPACE = 4096, FINALFUNC = mixstream_final,
  COMBINEFUNC = mixstream_combine, SERIALFUNC = mixstream_serialize, DESERIALFUNC = mixstream_deserialize,
  PARALLEL = SAFE);

-- What a state says.
CREATE FUNCTION mixstream_fit(state mixstream, k integer DEFAULT NULL, options jsonb DEFAULT NULL) RETURNS jsonb
  AS 'MODULE_PATHNAME', 'pg_mixstream_fit' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100000;
CREATE FUNCTION mixstream_table(state mixstream, k integer DEFAULT NULL, options jsonb DEFAULT NULL) RETURNS text
  AS 'MODULE_PATHNAME', 'pg_mixstream_table' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100000;
CREATE FUNCTION mixstream_inspect(state mixstream) RETURNS jsonb
  AS 'MODULE_PATHNAME', 'pg_mixstream_inspect' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION mixstream_moments(state mixstream, moment text, degree integer) RETURNS float8[]
  AS 'MODULE_PATHNAME', 'pg_mixstream_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION mixstream_predict(fit jsonb, x float8[], y float8 DEFAULT NULL, level float8 DEFAULT 0.95,
  OUT component integer, OUT probabilities float8[], OUT expected float8, OUT low float8, OUT high float8)
  AS 'MODULE_PATHNAME', 'pg_mixstream_predict' LANGUAGE C IMMUTABLE PARALLEL SAFE;
