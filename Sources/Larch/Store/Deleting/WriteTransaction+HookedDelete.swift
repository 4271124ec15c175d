/// The hooks of a deletion.
///
/// They may save and delete whatever they like, so nothing is done in the middle of them: the hooks
/// before run first, with a new plan after each round that changed anything. When they leave a plan as
/// it is, it is applied without a hook in between, and the hooks after it run last.
extension WriteTransaction {
  /// How often a plan is made again for one deletion.
  private static var planLimit: Int { 64 }

  /// Applies a plan with all its hooks, or does nothing.
  ///
  /// - Parameters:
  ///   - collection: what an error names.
  ///   - makePlan: plans the same deletion again.
  func deleteHooked(
    _ planner: DeletionPlanner, in collection: CollectionHandle,
    _ makePlan: () throws -> DeletionPlanner
  ) throws {
    let before = beingDeleted
    do {
      try asHooked(in: collection) {
        let planner = try settledPlan(planner, in: collection, makePlan)
        let doomed = planner.hooks?.doomed ?? []
        var departures: [() throws -> Void] = []
        for doomed in doomed {
          let collection = context.catalog.collections[doomed.place]
          if let departure = try departure(of: doomed, collection.schema.type, in: collection) {
            departures.append(departure)
          }
        }
        try apply(planner, isUndoable: true)
        for doomed in doomed { beingDeleted.remove(doomed) }
        for departure in departures { try departure() }
      }
      beingDeleted.formIntersection(before)
    } catch {
      beingDeleted = before
      throw error
    }
  }

  /// Runs the hooks that come before the records go, until they change nothing any more.
  private func settledPlan(
    _ planner: DeletionPlanner, in collection: CollectionHandle,
    _ makePlan: () throws -> DeletionPlanner
  ) throws -> DeletionPlanner {
    var planner = planner
    for _ in 0..<WriteTransaction.planLimit {
      guard let hooks = planner.hooks else { return planner }
      let changes = changeCount
      for doomed in hooks.doomed where !beingDeleted.contains(doomed) {
        let collection = context.catalog.collections[doomed.place]
        try runWillDelete(doomed, collection.schema.type, in: collection)
      }
      if changeCount == changes {
        if let denial = hooks.denial { throw denial }
        guard hooks.changesSurvivors else { return planner }
        try nullify(planner)
      }
      planner = try makePlan()
    }
    throw LarchError(
      .hooksTooDeep,
      "The hooks of a deletion keep changing what is to be deleted; make them stop."
    ) { $0.collection = collection.stored.name }
  }

  private func runWillDelete<R: Record>(
    _ doomed: DeletionHooks.Doomed, _ type: R.Type, in collection: CollectionHandle
  ) throws {
    guard let hooks = collection.declarations(of: type).hooks,
      // The hook of another record may have deleted it.
      var record = try record(doomed, type, in: collection)
    else { return }
    beingDeleted.insert(doomed)
    try hooks.run(.willDelete, &record, nil, self)
  }

  /// What is to be done when the record is gone.
  private func departure<R: Record>(
    of doomed: DeletionHooks.Doomed, _ type: R.Type, in collection: CollectionHandle
  ) throws -> (() throws -> Void)? {
    guard let hooks = collection.declarations(of: type).hooks,
      let record = try record(doomed, type, in: collection)
    else { return nil }
    if hooks.hasCommits { afterCommit { hooks.didCommit(record, .deleted) } }
    return {
      var record = record
      try hooks.run(.didDelete, &record, nil, self)
    }
  }

  private func record<R: Record>(
    _ doomed: DeletionHooks.Doomed, _ type: R.Type, in collection: CollectionHandle
  ) throws -> R? {
    try storage { transaction in
      try doomed.id.withUnsafeBytes { id in
        guard let stored = try collection.records.get(id, in: transaction) else { return nil }
        // No hook can be called on what is no value of the type any more.
        return try readable(type, stored, id: id, in: collection)
      }
    }
  }
}
