extension RecordReading {
  /// The rows of a join, in its order.
  ///
  /// ```swift
  /// let staff = Person.joined(with: Company.self, on: \.companyID, kind: .left)
  /// for (person, company) in try store.fetch(staff) { print(person.name, company?.name ?? "-") }
  /// ```
  ///
  /// - Throws: `.invalidQuery` for a join or a query in it that cannot be run as written,
  ///   `.checksumMismatch` or `.decodingFailed` for a stored record that cannot be read,
  ///   `.unknownCollection`.
  /// - Complexity: the rows of one side, each with one look-up on the other: in the tree of records
  ///   for an id, in an index that begins with the field, or in a table that the other side is read
  ///   into once. ``explain(_:running:)-(Join<Left,Right,Row>,_)`` tells which.
  public func fetch<Left: Record, Right: Record, Row>(
    _ join: Join<Left, Right, Row>
  ) throws -> [Row] {
    try _reading { tx in
      try tx.run(join.details, of: join) { rows in
        var buffer = RecordBuffer<Row>()
        while try rows.next(buffer.next()) { buffer.filled() }
        return buffer.takeArray()
      }
    }
  }

  /// The first row in the order of the join, or nil.
  ///
  /// - Throws: as ``fetch(_:)-(Join<Left,Right,Row>)``.
  /// - Complexity: stops at the first row, where no sort is needed.
  public func first<Left: Record, Right: Record, Row>(
    _ join: Join<Left, Right, Row>
  ) throws -> Row? {
    try _reading { tx in
      try tx.run(join.details.limitedToOne, of: join) { try $0.next() }
    }
  }

  /// How many rows ``fetch(_:)-(Join<Left,Right,Row>)`` would return. Nothing is decoded for it that filters
  /// need not decode.
  ///
  /// - Throws: as ``fetch(_:)-(Join<Left,Right,Row>)``.
  /// - Complexity: as ``fetch(_:)-(Join<Left,Right,Row>)``, without any sort.
  public func count<Left: Record, Right: Record, Row>(
    _ join: Join<Left, Right, Row>
  ) throws -> Int {
    try _reading { tx in
      try tx.run(join.details, of: join, isOrdered: false) { try $0.run.count() }
    }
  }

  /// Whether ``fetch(_:)-(Join<Left,Right,Row>)`` would return any row.
  ///
  /// - Throws: as ``fetch(_:)-(Join<Left,Right,Row>)``.
  /// - Complexity: stops at the first row.
  public func exists<Left: Record, Right: Record, Row>(
    _ join: Join<Left, Right, Row>
  ) throws -> Bool {
    try _reading { tx in
      try tx.run(join.details.limitedToOne, of: join, isOrdered: false) { try $0.run.count() > 0 }
    }
  }

  /// Calls the closure with each row in the order of the join, one after the other.
  ///
  /// In a write transaction, whose records the closure may change, all rows are read before the
  /// first call.
  ///
  /// - Throws: what `body` throws, and as ``fetch(_:)-(Join<Left,Right,Row>)``.
  /// - Complexity: in a read, constant memory where rows come in order and the inner side is looked
  ///   up by id or index; a table of the inner side is in memory. A sort that is larger than 64 MiB
  ///   goes through a temporary file.
  public func forEach<Left: Record, Right: Record, Row>(
    _ join: Join<Left, Right, Row>, _ body: (Row) throws -> Void
  ) throws {
    try _reading { tx in
      if tx is WriteTransaction {
        for row in try tx.fetch(join) { try body(row) }
        return
      }
      try tx.run(join.details, of: join, keepsFound: false) { rows in
        let memory = UnsafeMutablePointer<Row>.allocate(capacity: 1)
        defer { memory.deallocate() }
        while try rows.next(memory) {
          defer { memory.deinitialize(count: 1) }
          try body(memory.pointee)
        }
      }
    }
  }

  /// How the join would be answered, as text: how the outer side is gone through, and how partners
  /// are found on the inner one.
  ///
  /// - Parameters:
  ///   - join: what is asked.
  ///   - running: runs the join, and tells how many index entries and records were looked at on
  ///     either side, and how many rows returned.
  /// - Throws: as ``fetch(_:)-(Join<Left,Right,Row>)``.
  /// - Complexity: a few searches in the indexes, without running.
  public func explain<Left: Record, Right: Record, Row>(
    _ join: Join<Left, Right, Row>, running: Bool = false
  ) throws -> String {
    try _reading { tx in
      try tx.storage { _ in
        let prepared: PreparedJoin<Left, Right> = try tx.prepare(join.details, isOrdered: true)
        guard running else { return prepared.text }
        return try tx.run(prepared, join.kind) { rows in
          while try rows.run.next() != nil {}
          return prepared.text + "\n" + prepared.text(rows.run)
        }
      }
    }
  }
}

extension Join {
  /// The rows, in the order of the join. See ``RecordReading/fetch(_:)-(Join<Left,Right,Row>)``.
  ///
  /// - Throws: `.invalidQuery`, `.checksumMismatch`, `.decodingFailed`, `.unknownCollection`.
  /// - Complexity: what the plan of the join says.
  public func fetch(in reader: some RecordReading = AmbientStore()) throws -> [Row] {
    try reader.fetch(self)
  }

  /// The first row, or nil.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: stops at the first row, where no sort is needed.
  public func first(in reader: some RecordReading = AmbientStore()) throws -> Row? {
    try reader.first(self)
  }

  /// How many rows there are.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: as ``fetch(in:)``, without any sort.
  public func count(in reader: some RecordReading = AmbientStore()) throws -> Int {
    try reader.count(self)
  }

  /// Whether there is any row.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: stops at the first row.
  public func exists(in reader: some RecordReading = AmbientStore()) throws -> Bool {
    try reader.exists(self)
  }

  /// Calls the closure with each row.
  ///
  /// - Throws: what `body` throws, and as ``fetch(in:)``.
  /// - Complexity: constant memory where rows come in order.
  public func forEach(in reader: some RecordReading = AmbientStore(), _ body: (Row) throws -> Void)
    throws
  {
    try reader.forEach(self, body)
  }

  /// How the join would be answered.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: a few searches in the indexes, without running.
  public func explain(in reader: some RecordReading = AmbientStore(), running: Bool = false) throws
    -> String
  {
    try reader.explain(self, running: running)
  }
}
