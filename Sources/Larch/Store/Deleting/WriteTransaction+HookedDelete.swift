/// The hooks of a deletion.
///
/// Hooks may save and delete any records, so a plan is not executed while they run. First the
/// ``WillDelete`` hooks run. If they change anything, a new plan is made and its hooks run, until a
/// plan stays as it is. This plan is executed without hooks in between. The ``DidDelete`` hooks run
/// last.
extension WriteTransaction {
  /// The limit of plans for one deletion.
  private static var planLimit: Int { 64 }

  /// Executes a plan with all its hooks, or changes nothing.
  ///
  /// - Parameters:
  ///   - collection: the collection for error messages.
  ///   - makePlan: plans the same deletion again.
  func deleteHooked(
    _ planner: DeletionPlanner, in collection: CollectionHandle,
    _ makePlan: () throws -> DeletionPlanner
  ) throws {
    let before = beingDeleted
    do {
      try asHooked(in: collection) {
        let planner = try settledPlan(planner, in: collection, makePlan)
        let targets = planner.hooks?.targets ?? []
        var followUps: [() throws -> Void] = []
        for target in targets {
          let collection = context.catalog.collections[target.place]
          if let followUp = try followUp(of: target, collection.schema.type, in: collection) {
            followUps.append(followUp)
          }
        }
        try apply(planner, isUndoable: true)
        for target in targets { beingDeleted.remove(target) }
        for followUp in followUps { try followUp() }
      }
      beingDeleted.formIntersection(before)
    } catch {
      beingDeleted = before
      throw error
    }
  }

  /// Runs the ``WillDelete`` hooks until they change nothing any more; returns the last plan.
  private func settledPlan(
    _ planner: DeletionPlanner, in collection: CollectionHandle,
    _ makePlan: () throws -> DeletionPlanner
  ) throws -> DeletionPlanner {
    var planner = planner
    for _ in 0..<WriteTransaction.planLimit {
      guard let hooks = planner.hooks else { return planner }
      let changes = changeCount
      for target in hooks.targets where !beingDeleted.contains(target) {
        let collection = context.catalog.collections[target.place]
        try runWillDelete(target, collection.schema.type, in: collection)
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
    _ target: DeletionHooks.Target, _ type: R.Type, in collection: CollectionHandle
  ) throws {
    guard let hooks = collection.declarations(of: type).hooks,
      // The hook of another record may have deleted it.
      var record = try record(target, type, in: collection)
    else { return }
    beingDeleted.insert(target)
    try hooks.run(.willDelete, &record, nil, self)
  }

  /// The work after the deletion of a record: its ``DidDelete`` hooks.
  private func followUp<R: Record>(
    of target: DeletionHooks.Target, _ type: R.Type, in collection: CollectionHandle
  ) throws -> (() throws -> Void)? {
    guard let hooks = collection.declarations(of: type).hooks,
      let record = try record(target, type, in: collection)
    else { return nil }
    if hooks.hasCommits { afterCommit { hooks.didCommit(record, .deleted) } }
    return {
      var record = record
      try hooks.run(.didDelete, &record, nil, self)
    }
  }

  private func record<R: Record>(
    _ target: DeletionHooks.Target, _ type: R.Type, in collection: CollectionHandle
  ) throws -> R? {
    try storage { transaction in
      try target.id.withUnsafeBytes { id in
        guard let stored = try collection.records.get(id, in: transaction) else { return nil }
        // No hook can be called for a record that its type cannot decode any more.
        return try readable(type, stored, id: id, in: collection)
      }
    }
  }
}
