public import Larch

extension ServerLog {
  /// The log of a store on a PostgreSQL server, version 13 or newer.
  ///
  /// The client library libpq is loaded when this is first called; it must be installed.
  ///
  /// ```swift
  /// let log = ServerLog.postgres("postgres://larch@db.example/app", store: "people")
  /// ```
  ///
  /// The address is a URL or keywords, as for `psql`; several hosts are tried in their order, and the first
  /// that takes writes is used. Leave the password to a pass file, a service file or `PGPASSWORD`; wherever it
  /// is, it is in no error and no message. To a host that is not this machine, the connection is encrypted,
  /// and the certificate and the name of the server are checked (`sslmode=verify-full`, with the authorities
  /// of the system if libpq has no others), unless the address, the service file or `PGSSLMODE` says
  /// another mode; the `name` of the log tells a weaker one.
  ///
  /// A wrong address or a missing library is an error when the log is first used.
  ///
  /// - Parameters:
  ///   - address: where the server is.
  ///   - store: the name of the store there, so that many can be in one database.
  ///   - options: the schema of the tables, and times.
  /// - Complexity: nothing is sent.
  public static func postgres(
    _ address: String, store: String = "main", options: PostgresOptions = PostgresOptions()
  ) -> ServerLog {
    let place = (try? LibPQ.shared()).flatMap { try? PostgresAddress(address, $0).name }
    return ServerLog(name: PostgresLog.name(place ?? "PostgreSQL", store, options)) {
      try PostgresLog(address, store: store, options)
    }
  }

  /// Makes the tables on a PostgreSQL server that logs are kept in, and lets a user work with them.
  ///
  /// It is needed once for a database, and only if the programs may not make a schema there. What exists is
  /// kept, so it can be repeated, for example for another user. `larch server init` does the same.
  ///
  /// - Parameters:
  ///   - address: where the server is, as a user who may create a schema in the database.
  ///   - user: whom to give the rights: SELECT, INSERT, UPDATE and DELETE on the tables, and no others.
  ///   - readsOnly: whether the user may only read, which is enough for followers and for restoring.
  ///   - options: the schema of the tables, and times.
  /// - Throws: `LarchError` with the codes `.missingLibrary`, `.invalidAddress`, `.unavailable`,
  ///   `.serverRefused`, `.damagedLog`.
  /// - Complexity: a few round trips.
  public static func preparePostgres(
    _ address: String, for user: String? = nil, readsOnly: Bool = false,
    options: PostgresOptions = PostgresOptions()
  ) throws {
    let log = try PostgresLog(address, store: nil, options)
    defer { log.close() }
    try log.prepare(for: user, readsOnly: readsOnly)
  }

  /// The stores whose logs a database has, by name; nil if the schema has no tables of Larch.
  package static func storesOnPostgres(
    _ address: String, options: PostgresOptions = PostgresOptions()
  ) throws -> [StoreOnServer]? {
    let log = try PostgresLog(address, store: nil, options)
    defer { log.close() }
    return try log.stores()
  }
}
