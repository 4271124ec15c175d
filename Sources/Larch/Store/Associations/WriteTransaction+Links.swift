/// Many-to-many lists: each change applies to both directions.
extension WriteTransaction {
  /// The two directions of the lists, from the side of the owner.
  private struct LinkLists {
    let key: String
    let own: LMDBDatabase
    let other: LMDBDatabase
    let owners: CollectionHandle
    let members: CollectionHandle
  }

  private func lists<Owner: Record, Target: Record>(
    _ end: AssociationEnd?, _ related: Related<Owner, Target>
  ) throws -> LinkLists {
    guard let end, let lists = end.association.lists else { throw related.unknownAssociation }
    return LinkLists(
      key: end.association.stored.key, own: end.isFirst ? lists.forward : lists.inverse,
      other: end.isFirst ? lists.inverse : lists.forward,
      owners: try context.collection(of: Owner.self),
      members: try context.collection(of: Target.self))
  }

  func addLinks<Owner: Record, Target: Record, IDs: Sequence>(
    _ ids: IDs, _ end: AssociationEnd?, _ related: Related<Owner, Target>
  ) throws where IDs.Element == Target.ID {
    try storage { _ in
      let lists = try lists(end, related)
      let members = try keys(of: ids, related, lists)
      if members.count == 0 { return }
      let owner = [UInt8](try context.savedKey(of: related))
      // Everything is checked before anything is collected, so an error leaves no changes.
      try owner.withUnsafeBytes { owner in
        try check(owner, in: lists.owners, lists)
        for place in 0..<members.count {
          try check(members[place], in: lists.members, lists)
        }
        for place in 0..<members.count { try link(owner, members[place], lists) }
      }
    }
  }

  func addLink<Owner: Record, Target: Record>(
    _ id: Target.ID, _ end: AssociationEnd?, _ related: Related<Owner, Target>
  ) throws {
    try storage { _ in
      let lists = try lists(end, related)
      if id._isUnassigned { throw unsavedMember(lists) }
      let (owner, member) = try keys(of: related, id)
      try check(owner, in: lists.owners, lists)
      try check(member, in: lists.members, lists)
      try link(owner, member, lists)
    }
  }

  func removeLink<Owner: Record, Target: Record>(
    _ id: Target.ID, _ end: AssociationEnd?, _ related: Related<Owner, Target>
  ) throws {
    try storage { _ in
      let lists = try lists(end, related)
      let (owner, member) = try keys(of: related, id)
      try unlink(owner, member, lists)
    }
  }

  func replaceLinks<Owner: Record, Target: Record, IDs: Sequence>(
    with ids: IDs, _ end: AssociationEnd?, _ related: Related<Owner, Target>
  ) throws where IDs.Element == Target.ID {
    try storage { _ in
      let lists = try lists(end, related)
      let wanted = try keys(of: ids, related, lists)
      guard let list = try list(of: related) else { return }
      let current = try keys(of: list, lists)
      try list.key.withUnsafeBytes { owner in
        if wanted.count > 0 { try check(owner, in: lists.owners, lists) }
        try IDList.forEachDifference(current, wanted) { member, isWanted in
          if isWanted { try check(member, in: lists.members, lists) }
        }
        try IDList.forEachDifference(current, wanted) { member, isWanted in
          if isWanted {
            try link(owner, member, lists)
          } else {
            try unlink(owner, member, lists)
          }
        }
      }
    }
  }

  // MARK: One link

  private func check(
    _ id: UnsafeRawBufferPointer, in collection: CollectionHandle, _ lists: borrowing LinkLists
  ) throws {
    try writer.maintainer.references.checkLink(id, in: collection, association: lists.key)
  }

  private func link(
    _ owner: UnsafeRawBufferPointer, _ member: UnsafeRawBufferPointer,
    _ lists: borrowing LinkLists
  ) throws {
    try writer.maintainer.add(member, toList: owner, in: lists.own)
    try writer.maintainer.add(owner, toList: member, in: lists.other)
    changeCount &+= 1
  }

  private func unlink(
    _ owner: UnsafeRawBufferPointer, _ member: UnsafeRawBufferPointer,
    _ lists: borrowing LinkLists
  ) throws {
    try writer.maintainer.remove(member, fromList: owner, in: lists.own)
    try writer.maintainer.remove(owner, fromList: member, in: lists.other)
    changeCount &+= 1
  }

  // MARK: Ids

  /// The two stored ids, in buffers of the context.
  private func keys<Owner: Record, Target: Record>(
    of related: Related<Owner, Target>, _ id: Target.ID
  ) throws -> (owner: UnsafeRawBufferPointer, member: UnsafeRawBufferPointer) {
    if related.owner.id._isUnassigned { throw related.unsavedOwner }
    let member = try context.key(of: id)
    context.listWriter.clear()
    try related.owner.id._writeID(to: &context.listWriter)
    return (context.listWriter.bytes, member)
  }

  /// The stored ids, sorted and without duplicates.
  private func keys<Owner: Record, Target: Record, IDs: Sequence>(
    of ids: IDs, _ related: Related<Owner, Target>, _ lists: borrowing LinkLists
  ) throws -> IDList where IDs.Element == Target.ID {
    if related.owner.id._isUnassigned { throw related.unsavedOwner }
    var keys = IDList(width: lists.members.stored.idKind.width)
    for id in ids {
      if id._isUnassigned { throw unsavedMember(lists) }
      keys.append(try context.key(of: id))
    }
    keys.finish()
    return keys
  }

  private func keys(
    of list: AssociationList, _ lists: borrowing LinkLists
  ) throws -> IDList {
    var keys = IDList(width: lists.members.stored.idKind.width)
    try writeGathered(for: list.database)
    try list.forEach(context) {
      keys.append($0)
      return true
    }
    keys.finish()
    return keys
  }

  private func unsavedMember(_ lists: borrowing LinkLists) -> LarchError {
    let members = lists.members.stored.name
    let key = lists.key
    return LarchError(
      .unsavedReference,
      "A record without an id cannot be added to a list; save it first."
    ) {
      $0.collection = members
      $0.field = key
    }
  }
}

extension IDList {
  /// Calls with each id that is in only one of two finished lists, and whether it is in the second.
  fileprivate static func forEachDifference(
    _ first: borrowing IDList, _ second: borrowing IDList,
    _ body: (UnsafeRawBufferPointer, _ isInSecond: Bool) throws -> Void
  ) throws {
    var left = 0
    var right = 0
    while left < first.count || right < second.count {
      if right == second.count {
        try body(first[left], false)
        left += 1
      } else if left == first.count {
        try body(second[right], true)
        right += 1
      } else {
        let a = first[left]
        let b = second[right]
        if a.equals(b) {
          left += 1
          right += 1
        } else if a.precedes(b) {
          try body(a, false)
          left += 1
        } else {
          try body(b, true)
          right += 1
        }
      }
    }
  }
}
