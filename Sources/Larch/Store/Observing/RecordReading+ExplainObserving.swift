extension RecordReading {
  /// How an observer of the request hears of changes and keeps its rows, as text.
  ///
  /// ```swift
  /// let page = Person.where { $0.city == "London" }.sorted(by: \.age).limit(20)
  /// print(try store.explain(observing: page))
  /// ```
  ///
  /// ```text
  /// changes of Person
  ///   filter city == "London"
  ///     found by index city_age
  /// rows brought up to date from the changed records
  ///   read again if a row leaves the first 20, and none behind them is known
  ///   read again if more than 16 records and a sixteenth of the rows change at once
  /// reading
  ///   index city_age ["London"]
  ///     order served by the index
  ///     limit 20
  /// ```
  ///
  /// The first lines say which changes wake it, and how a commit finds it among the observers of the
  /// collection: by the ranges of an index or by ids that its filter has. Without them, each change of
  /// the collection is compared with its filter. Then comes whether its rows are brought up to date
  /// from the changed records, and when, or why, they are read again. At the end is the plan of the
  /// read, as ``explain(_:counting:running:)`` shows it. A store that does not observe other
  /// processes (``Store/Options/observesOtherProcesses``) always reads the rows again; call it on the
  /// store to see that.
  ///
  /// A store also explains a closure, `store.explain { tx in … }`, and a single record,
  /// `store.explain(observing: Person.self, id)`.
  ///
  /// - Parameter request: the request that is observed.
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: that of ``explain(_:counting:running:)``: a few searches in the indexes.
  public func explain<Q: Request>(observing request: Q) throws -> String {
    try _reading { tx in
      let plan = try Q._runner.runs.explain(request, in: tx, counting: false, running: false)
      var lines =
        try (request as? any PatchedQuery)?.observedLines(tx)
        ?? (request as? any ExplainedJoin)?.observedLines(tx) ?? ObservedText.unknown
      if let store = self as? Store, !store.options.observesOtherProcesses {
        lines = lines.prefix { !$0.hasPrefix("rows ") } + ["rows read again: " + ObservedText.alone]
      }
      let read = plan.split(separator: "\n", omittingEmptySubsequences: false).map { "  " + $0 }
      return (lines + ["reading"] + read).joined(separator: "\n")
    }
  }
}

/// A join of any two types.
private protocol ExplainedJoin {
  func observedLines(_ tx: ReadTransaction) throws -> [String]
}

extension PatchedQuery {
  fileprivate func observedLines(_ tx: ReadTransaction) throws -> [String] {
    let details = patchedQuery
    var lines: [String] = []
    if !details.asksRelated, !details.filter.isAlways {
      lines.append("  filter " + details.filter.text)
      // Only a collection of which no type is open is not there, and then the plan shows the error.
      if let collection = tx.context.catalog.collections.first(where: {
        $0.stored.name == collectionName
      }) {
        let planner = Planner(schema: collection.schema, usable: collection.storedKeys)
        lines.append(
          ObservedText.found(try planner.bounds(of: details.filter), in: collection))
      }
    }
    if let fields = (self as? any FieldwiseRequest)?.names {
      lines.append("  only \(fields.joined(separator: ", ")), and which records in which order")
    }
    if let reasonNotPatched {
      return ["changes of what is read"] + lines + ["rows read again: " + reasonNotPatched]
    }
    if dependencies.isEmpty {
      lines = ["changes of \(collectionName)"] + lines
      lines.append("rows brought up to date from the changed records")
    } else {
      lines = ["changes of \(collectionName) and of related records"] + lines
      lines.append("rows brought up to date from the changed records, and from the related ones")
      if dependencies.hasLinks { lines.append(ObservedText.lists) }
    }
    if let limit = details.limit {
      lines.append("  read again if a row leaves the first \(limit), and none behind them is known")
    }
    let few = dependencies.isEmpty ? PatchLimits.fewChanges : PatchLimits.fewRelated
    return lines + [ObservedText.bound(few)]
  }
}

extension Join: ExplainedJoin {
  fileprivate func observedLines(_ tx: ReadTransaction) throws -> [String] {
    let left = try tx.context.collection(of: Left.self)
    let right = try tx.context.collection(of: Right.self)
    func access(_ field: FieldReference, _ side: CollectionHandle) -> String? {
      JoinPlan.access(to: field, of: side) == nil
        ? "\(side.stored.name) has no index of \(field.name)" : nil
    }
    let missing = access(details.rightField, right)
    if let reason = details.reasonNotPatched ?? missing {
      return ["changes of what is read", "rows read again: " + reason]
    }
    let dependencies = details.left.dependencies + details.right.dependencies
    var lines = [
      "changes of \(left.stored.name) and of \(right.stored.name)"
        + (dependencies.isEmpty ? "" : " and of related records"),
      "rows brought up to date from the changed records of both",
    ]
    if let missing = access(details.leftField, left) {
      lines.append("  read again if a record of \(right.stored.name) comes: \(missing)")
    }
    if dependencies.hasLinks { lines.append(ObservedText.lists) }
    return lines + [ObservedText.bound(PatchLimits.fewRelated)]
  }
}

extension [RelatedDependency] {
  fileprivate var hasLinks: Bool { contains { $0.filter.hasLinks } }
}

extension FilterNode {
  /// Whether a test of related records is by lists of the store.
  fileprivate var hasLinks: Bool {
    var isFound = false
    forEachRelated { related in
      if case .links = related.route { isFound = true }
      if related.filter.hasLinks { isFound = true }
    }
    return isFound
  }
}
