/// The effects of the associations of one collection when one of its records is deleted.
struct CollectionRules {
  /// The related records are deleted too.
  private(set) var cascades: [Cascade] = []
  /// The related records stay; they are changed, or prevent the deletion.
  private(set) var survivors: [EndReader] = []
  /// Ends whose rule only an open type could apply.
  private(set) var unopened: [AssociationEnd] = []
  /// Lists whose members may be the record.
  private(set) var lists: [AssociationEnd] = []

  init(
    _ ends: [AssociationEnd], _ context: TransactionContext,
    prepare: @escaping EndReader.Preparation
  ) throws {
    for end in ends {
      if end.association.lists != nil { lists.append(end) }
      let rule = end.rule
      if end.association.lists != nil, rule == .none || rule == .nullify { continue }
      if end.association.schema == nil, end.other == nil {
        unopened.append(end)
        continue
      }
      guard let other = end.other, let reader = try EndReader(end, context, prepare: prepare) else {
        continue
      }
      switch rule {
      case .destroy: cascades.append(Cascade(reader, other, counting: nil))
      case .destroyLast:
        cascades.append(
          Cascade(
            reader, other,
            counting: CollectionRules.hasOnePartner(end)
              ? nil : try EndReader(end.opposite, context, prepare: prepare)))
      case .nullify, .deny, .none, .automatic: break
      }
      if rule == .deny || end.removesReferences { survivors.append(reader) }
    }
  }

  func endReading() {
    for cascade in cascades {
      cascade.reader.endReading()
      cascade.partners?.endReading()
    }
    for reader in survivors { reader.endReading() }
  }

  /// Whether each record at the other end can be related to only one record of this end.
  private static func hasOnePartner(_ end: AssociationEnd) -> Bool {
    guard !end.isFirst, let reference = end.association.reference else { return false }
    return !reference.declaration.isList
  }
}

/// An association whose related records are deleted too: all, or those that lose their last one.
final class Cascade {
  let reader: EndReader
  let other: CollectionHandle
  /// The records that each related record is itself related to; nil if it is always deleted.
  let partners: EndReader?
  /// The remaining number of these, for related records that have lost some.
  @exclusivity(unchecked) private var numbers: [UInt64: Int] = [:]
  @exclusivity(unchecked) private var others: [[UInt8]: Int] = [:]

  init(_ reader: EndReader, _ other: CollectionHandle, counting partners: EndReader?) {
    self.reader = reader
    self.other = other
    self.partners = partners
  }

  /// Notes that a related record loses one that it was related to; true if it was the last.
  func losesLast(_ id: UnsafeRawBufferPointer) throws -> Bool {
    guard let partners else { return true }
    if id.count == 8 {
      let number = id.loadUnaligned(as: UInt64.self)
      let left = try numbers[number] ?? partners.count(id)
      numbers[number] = left - 1
      return left <= 1
    }
    let bytes = [UInt8](id)
    let left = try others[bytes] ?? partners.count(id)
    others[bytes] = left - 1
    return left <= 1
  }
}
