/* The DuckDB extension: LOAD '.../mixstream.duckdb_extension'. docs/guide/duckdb.md teaches it. */
#define DUCKDB_EXTENSION_NAME mixstream
#include "model.h"

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection connection, duckdb_extension_info info,
                            struct duckdb_extension_access* access) {
  if (!open_guard()) {
    access->set_error(info, "mixstream: the system gives no more pipes");
    return false;
  }
  if (add_state(connection) && add_merge(connection) && add_fits(connection) && add_predict(connection))
    return true;
  access->set_error(info, "mixstream: DuckDB refuses the functions; are they there already?");
  return false;
}
