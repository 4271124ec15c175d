/// The associations of a record type that lead to one record, as orders name them: `\.company.name`
/// in `Person.all.sorted(by: \.company.name)`.
@dynamicMemberLookup
public struct RelatedFields<Root: Record>: Sendable {
  init() {}

  /// The record at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, BelongsTo<Root, Target>> & Sendable
  ) -> RelatedRecord<Root, Target> { Root.self[keyPath: keyPath]._related }

  /// The record at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, HasOne<Root, Target>> & Sendable
  ) -> RelatedRecord<Root, Target> { Root.self[keyPath: keyPath]._related }
}

/// Where the value of an order is that is no value of the record itself.
final class RelatedValue: Sendable {
  /// The associations that lead there, one record each, as filters for any record.
  let route: [RelatedFilter]
  /// The field of the record at the end.
  let field: FieldReference

  init(route: [RelatedFilter], field: FieldReference) {
    self.route = route
    self.field = field
  }
}

/// Tells one field of a related record from all others.
private struct RelatedChain: Hashable {
  let path: [String]
  let identity: FieldIdentity
}

/// Gives a chain the form of a key path, which identifies fields that are not stored properties.
private struct RelatedChains {
  subscript(chain: RelatedChain) -> RelatedChain { chain }
}

extension FieldReference {
  /// A field of a related record, which is nil where there is no such record.
  convenience init<Root, Value>(
    ofRelated node: FieldNode<Root, Value?>, as type: Value?.Type
  ) where Value: IndexKey {
    let reading = node.related
    var route: [RelatedFilter] = []
    var filter = reading.map { $0.wrap(.always, false) }
    while case .related(let related)? = filter {
      route.append(related)
      filter = related.filter
    }
    let name = (reading?.path ?? []) + [node.name]
    self.init(
      form: type.fieldCoding.form, isMultiple: false, isStandard: false,
      name: name.joined(separator: "."),
      identity: .computed(
        \RelatedChains.[RelatedChain(path: reading?.path ?? [], identity: node.identity)]),
      related: node.key.map { RelatedValue(route: route, field: $0.field) },
      error: node.key == nil ? FieldReference.unreadable(name.joined(separator: ".")) : nil)
  }

  private static func unreadable(_ name: String) -> LarchError {
    LarchError(
      .invalidQuery,
      "An order names what no field of the related record tells; name a property of that record."
    ) { $0.field = name }
  }
}

extension OrderTerm {
  init<R: Record, Value: IndexKey>(
    _ field: KeyPath<RelatedFields<R>, Field<R, Value?>>, _ direction: SortDirection,
    ignoresCase: Bool
  ) {
    self.init(
      field: FieldReference(
        ofRelated: RelatedFields()[keyPath: field].node, as: Value?.self),
      descends: direction == .descending, ignoresCase: ignoresCase)
  }
}
