/// What the associations of one collection ask for when a record of it is deleted.
struct CollectionRules {
  /// The related records are deleted too.
  private(set) var cascades: [Cascade] = []
  /// The related records that stay are changed, or keep the record from being deleted.
  private(set) var survivors: [EndReader] = []
  /// Only an open type could tell what the rule is to be obeyed with.
  private(set) var unopened: [AssociationEnd] = []
  /// Lists whose members name the record.
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

  /// Whether each record at the other end can be related with one record of this end only.
  private static func hasOnePartner(_ end: AssociationEnd) -> Bool {
    guard !end.isFirst, let reference = end.association.reference else { return false }
    return !reference.declaration.isList
  }
}

/// An association whose related records are deleted too: each, or each that loses its last.
final class Cascade {
  let reader: EndReader
  let other: CollectionHandle
  /// What each related record is related with in turn; nil where it is deleted at once.
  let partners: EndReader?
  /// How many of these are left, of related records that have lost some.
  @exclusivity(unchecked) private var numbers: [UInt64: Int] = [:]
  @exclusivity(unchecked) private var others: [[UInt8]: Int] = [:]

  init(_ reader: EndReader, _ other: CollectionHandle, counting partners: EndReader?) {
    self.reader = reader
    self.other = other
    self.partners = partners
  }

  /// Takes note that a related record loses one that it was related with; true when it was the
  /// last.
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
