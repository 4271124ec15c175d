// What a transaction does with single records, on a store too, and on `AmbientStore`.

extension RecordReading {
  /// The record with this id, or nil. See ``ReadTransaction/find(_:_:)``.
  ///
  /// - Throws: as ``ReadTransaction/find(_:_:)``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  @_disfavoredOverload  // A transaction's own method does the same with a step less.
  public func find<R: Record>(_ type: R.Type = R.self, _ id: R.ID) throws -> R? {
    try _reading { try $0.find(type, id) }
  }

  /// Whether there is a record with this id. See ``ReadTransaction/exists(_:_:)``.
  ///
  /// - Throws: as ``ReadTransaction/exists(_:_:)``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  @_disfavoredOverload  // As above.
  public func exists<R: Record>(_ type: R.Type = R.self, _ id: R.ID) throws -> Bool {
    try _reading { try $0.exists(type, id) }
  }

  /// How many records of the type there are. See ``ReadTransaction/count(_:)``.
  ///
  /// - Throws: as ``ReadTransaction/count(_:)``.
  /// - Complexity: O(1).
  @_disfavoredOverload  // As above.
  public func count<R: Record>(_ type: R.Type) throws -> Int {
    try _reading { try $0.count(type) }
  }
}

extension RecordWriting {
  /// Inserts the record, or updates the one that has its id. See ``WriteTransaction/save(_:)``.
  ///
  /// On a store each call is a transaction of its own, with its own flush of the disk: put what
  /// belongs together, and what is much, into one `Store.write(_:)`.
  ///
  /// - Throws: as ``WriteTransaction/save(_:)``, and on a store as its `write`.
  /// - Complexity: O(log n) for the record and each index entry that changes.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @_disfavoredOverload  // As above.
  public func save<R: Record>(_ record: inout R) throws {
    let original = record
    do {
      try _writing { tx in
        // A write may run twice: hooks change the record they began with.
        record = original
        try tx.save(&record)
      }
    } catch {
      // The commit may fail after the record was given an id.
      record = original
      throw error
    }
  }

  /// Saves the record where what is stored under its id still equals `original`. See
  /// ``WriteTransaction/save(_:ifUnchanged:)``.
  ///
  /// - Throws: as ``WriteTransaction/save(_:ifUnchanged:)``, and on a store as its `write`.
  /// - Complexity: as ``WriteTransaction/save(_:ifUnchanged:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @_disfavoredOverload  // As above.
  public func save<R: Record>(_ record: inout R, ifUnchanged original: R) throws {
    let before = record
    do {
      try _writing { tx in
        record = before
        try tx.save(&record, ifUnchanged: original)
      }
    } catch {
      record = before
      throw error
    }
  }

  /// Inserts the record. See ``WriteTransaction/insert(_:)``.
  ///
  /// - Throws: as ``WriteTransaction/insert(_:)``, and on a store as its `write`.
  /// - Complexity: as ``save(_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @_disfavoredOverload  // As above.
  public func insert<R: Record>(_ record: inout R) throws {
    let original = record
    do {
      try _writing { tx in
        record = original
        try tx.insert(&record)
      }
    } catch {
      record = original
      throw error
    }
  }

  /// Replaces the stored record that has the id of this one. See
  /// `WriteTransaction.update(_:)`.
  ///
  /// - Throws: as `WriteTransaction.update(_:)`, and on a store as its `write`.
  /// - Complexity: as ``save(_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @_disfavoredOverload  // As above.
  public func update<R: Record>(_ record: R) throws { try _writing { try $0.update(record) } }

  /// Replaces the stored record that has the id of this one, and brings the record up to date
  /// with what hooks and ``Timestamped`` made of it.
  ///
  /// - Throws: as `WriteTransaction.update(_:)`, and on a store as its `write`.
  /// - Complexity: as ``save(_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @_disfavoredOverload  // As above.
  public func update<R: Record>(_ record: inout R) throws {
    let original = record
    do {
      try _writing { tx in
        record = original
        try tx.update(&record)
      }
    } catch {
      record = original
      throw error
    }
  }

  /// Deletes the record with the id of this one, by the rules of its associations. See
  /// ``WriteTransaction/delete(_:_:)``.
  ///
  /// - Returns: whether there was one.
  /// - Throws: as ``WriteTransaction/delete(_:_:)``, and on a store as its `write`.
  /// - Complexity: as ``WriteTransaction/delete(_:_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @_disfavoredOverload  // As above.
  @discardableResult
  public func delete<R: Record>(_ record: R) throws -> Bool {
    try _writing { try $0.delete(R.self, record.id) }
  }

  /// Deletes the record with this id, by the rules of its associations. See
  /// ``WriteTransaction/delete(_:_:)``.
  ///
  /// - Returns: whether there was one.
  /// - Throws: as ``WriteTransaction/delete(_:_:)``, and on a store as its `write`.
  /// - Complexity: as ``WriteTransaction/delete(_:_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @_disfavoredOverload  // As above.
  @discardableResult
  public func delete<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool {
    try _writing { try $0.delete(type, id) }
  }

  /// Deletes all records of the type. See ``WriteTransaction/erase(_:)``.
  ///
  /// - Returns: how many there were.
  /// - Throws: as ``WriteTransaction/erase(_:)``, and on a store as its `write`.
  /// - Complexity: as ``WriteTransaction/erase(_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @_disfavoredOverload  // As above.
  @discardableResult
  public func erase<R: Record>(_ type: R.Type) throws -> Int {
    try _writing { try $0.erase(type) }
  }
}
