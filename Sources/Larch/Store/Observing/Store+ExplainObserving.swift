extension Store {
  /// How an observer of what a closure reads hears of changes, and when it reads again, as text.
  ///
  /// ```swift
  /// let text = try store.explain { tx in
  ///   (try tx.count(Person.where { $0.city == "London" }), try tx.find(Company.self, id))
  /// }
  /// ```
  ///
  /// ```text
  /// changes of Company
  ///   id 7
  ///     found by ids
  /// changes of Person
  ///   filter city == "London"
  ///     found by index city_age
  /// run again after such a change: it reads more than aggregates that are kept
  /// ```
  ///
  /// The closure runs once. First come the collections, indexes and lists that it has read, with the
  /// filters of its queries and the ids that it has looked for. `any` means that they were read without
  /// a filter, or that the closure has more than 64 queries. The last lines say whether aggregates, such
  /// as a count, are brought up to date from the changed records, or the closure runs again after
  /// each change that passes one of the filters.
  ///
  /// - Parameter read: the closure that is observed.
  /// - Throws: the errors of the closure; `.closed`.
  /// - Complexity: that of one run of the closure.
  public func explain<Value>(
    observing read: (ReadTransaction) throws -> Value
  ) throws -> String {
    let aggregates = KeptAggregates()
    let keeps = options.observesOtherProcesses
    return try observedText(keeping: keeps ? aggregates : nil) {
      _ = try read($0)
    } outcome: {
      guard keeps else {
        return ["run again after such a change: " + ObservedText.alone]
      }
      // Without a change, they say only whether they are all that was read.
      guard aggregates.advance($0, changes: { _, _ in ChangesByTree() }) != nil else {
        return ["run again after such a change: it reads more than aggregates that are kept"]
      }
      let known = "aggregates brought up to date from the changed records"
      guard let related = aggregates.related else {
        return [known, "  run again if one of them changes"]
      }
      let hasLists = related.all != related.records
      return [known + ", and from the related ones", "  run again if one of them changes"]
        + (hasLists ? [ObservedText.lists] : [])
        + [ObservedText.bound(PatchLimits.fewRelated, of: "matches")]
    }
  }

  /// How an observer of a single record hears of its changes, as text. The lines are those of a
  /// closure.
  ///
  /// ```text
  /// changes of Person
  ///   id 7
  ///     found by ids
  /// read again after such a change
  /// ```
  ///
  /// - Parameters:
  ///   - type: the type of the record.
  ///   - id: its id. There need not be such a record.
  /// - Throws: the errors of `find`.
  /// - Complexity: that of `find`.
  public func explain<R: Record>(observing type: R.Type, _ id: R.ID) throws -> String {
    let read = ObservedRecord<R>(id)
    return try observedText(keeping: nil) {
      _ = try read.read($0, RowDigest())
    } outcome: { _ in
      ["read again after such a change"]
    }
  }

  private func observedText(
    keeping aggregates: KeptAggregates?, reading read: (ReadTransaction) throws -> Void,
    outcome: (ReadTransaction) -> [String]
  ) throws -> String {
    let tracker = QueryTracker()
    var lines: [String] = []
    try readTracked(by: tracker) { tx in
      tracker.aggregates = aggregates
      aggregates?.begin()
      try read(tx)
      aggregates?.end()
      lines = try ObservedText.changes(tracker, tx.context.catalog)
      lines += lines.isEmpty ? ["never read again: it reads no records"] : outcome(tx)
    }
    return lines.joined(separator: "\n")
  }
}

/// The lines about changes in the text of what is observed.
enum ObservedText {
  static let unknown = [
    "changes of what is read", "rows read again: they are not the records of one query",
  ]

  static let alone = "the store does not observe other processes"

  static let lists = "  read again if a list of the store changes"

  static func bound(_ few: Int, of rows: String = "rows") -> String {
    "  read again if more than \(few) records and a sixteenth of the \(rows) change at once"
  }

  /// How a commit finds an observer by its filter.
  static func found(_ bounds: [RowBounds]?, in collection: CollectionHandle) -> String {
    guard let bounds else { return "    each change of \(collection.stored.name) is compared" }
    if bounds.isEmpty { return "    no record passes it" }
    let places = bounds.map { part in
      switch part {
      case .ids: "ids"
      case .index(let place, _): "index \(collection.schema.indexes[place].name)"
      }
    }
    return "    found by \(places.unique().joined(separator: " or "))"
  }

  /// What was read, and which changes of it count.
  fileprivate static func changes(_ tracker: QueryTracker, _ catalog: Catalog) throws -> [String] {
    var lines: [String] = []
    for collection in catalog.collections {
      let name = collection.stored.name
      let tree = collection.records.handle
      if tracker.unfiltered.contains(tree) {
        lines.append("changes of \(name): any")
        continue
      }
      let texts = try tracker.filters.filter { $0.tree == tree }.map { filter in
        "  " + filter.text(in: collection.schema) + "\n"
          + found(try filter.bounds(collection), in: collection)
      }.unique()
      if !texts.isEmpty { lines += ["changes of \(name)"] + texts }
      for index in collection.allIndexes where tracker.unfiltered.contains(index.database.handle) {
        lines.append("changes of index \(index.schema.name) of \(name): any")
      }
    }
    for association in catalog.associations {
      guard let lists = association.lists else { continue }
      if [lists.forward, lists.inverse].contains(where: { tracker.trees.contains($0.handle) }) {
        lines.append("changes of lists \(association.stored.key): any")
      }
    }
    return lines
  }
}

extension [String] {
  /// Each text once, where it comes first.
  fileprivate func unique() -> [String] {
    var seen: Set<String> = []
    return filter { seen.insert($0).inserted }
  }
}
