/// Finds the stored record that has the same value in a unique field as another one.
///
/// It gives the id alone: the stored record may be one that its type cannot decode any more, and the
/// other record takes the place of that one too.
struct UniqueMatch<R: Record> {
  /// Throws for a field by which records cannot be matched.
  let check: (ReadTransaction) throws -> Void
  /// The id of the stored record; nil if there is none.
  let find: (R, ReadTransaction) throws -> R.ID?

  init<Value: IndexKey>(_ field: any KeyPath<R, Value> & Sendable) {
    check = { try $0.checkMatching(by: field) }
    find = { try $1.matchedID(R.self, $0[keyPath: field], through: field) }
  }
}

extension LarchError.Code {
  /// Records cannot be matched by the field.
  public static let unsuitableMatch = Self(rawValue: "unsuitable_match")
}

extension ReadTransaction {
  /// Throws for a field without a `Unique` of its own.
  final func checkMatching<R: Record, Value: IndexKey>(
    by field: any KeyPath<R, Value> & Sendable
  ) throws {
    let collection = try context.collection(of: R.self)
    let index = context.points.entry(of: field, in: collection).index
    if let index, index.schema.isUnique { return }
    if context.points.textForm(field, in: collection).isFolded { return }
    func error(_ message: StaticString) -> LarchError {
      LarchError(.unsuitableMatch, message) {
        $0.collection = collection.stored.name
        if case .stored(let names, _) = FieldNaming.storedPath(of: field) {
          $0.field = names.joined(separator: ".")
        }
      }
    }
    if context.points.isIncomplete(field, in: collection) {
      throw error(
        "The unique index over the field is incomplete, so nobody can tell which record an element stands for; `rebuild()` names the records that it misses."
      )
    }
    throw error(
      "Records can be matched only by a unique field; declare `Unique` for this field alone, or match by another one."
    )
  }

  /// The id of the record with a value in a unique field. Nothing equals nil or NaN, and many records
  /// may have them.
  final func matchedID<R: Record, Value: IndexKey>(
    _ type: R.Type, _ value: Value, through field: any KeyPath<R, Value> & Sendable
  ) throws -> R.ID? {
    try storage { transaction -> R.ID? in
      context.idWriter.clear()
      Value.keyCoding.write(value, to: &context.idWriter, isLast: true)
      if context.idWriter.hasNil { return nil }
      let collection = try context.collection(of: type)
      context.idWriter.clear()
      let point = context.points.entry(of: field, in: collection)
      point.write(value, to: &context.idWriter)
      guard let index = point.index,
        !context.checksQueries, !context.idWriter.isCut, !context.idWriter.hasNil
      else { return try ids(query(field, is: value, in: collection).limit(1)).first }
      try writePending(for: index.database)
      return try index.database.get(context.idWriter.bytes, in: transaction)
        .map { try context.id(of: type, $0, in: collection) }
    }
  }
}
