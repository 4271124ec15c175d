/// Partners from the lists of an association.
final class LinkedPartners: LookupPartners {
  @exclusivity(unchecked) private var list: LMDBCursor?

  /// - Parameter database: the lists of partner ids, by the id of the outer record.
  init(
    _ database: LMDBDatabase, _ query: QueryDescription, in collection: CollectionHandle,
    context: TransactionContext, typed: TypedAccess, keepsFound: Bool
  ) throws {
    list = try LMDBCursor(database, in: try context.transaction())
    try super.init(
      query, PartnerRules(keepsFound: keepsFound), in: collection, context: context, typed: typed)
  }

  override func collect(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
    var entry = try list?.seek(exactly: id)
    while let here = entry {
      entriesExamined &+= 1
      try addRecord(here.value, isListed: !reader.context.hasUnsavedMembers)
      entry = try list?.nextDuplicate()
    }
  }

  override func close() {
    list = nil
    super.close()
  }
}

/// Partners through join records.
final class ThroughPartners: LookupPartners {
  /// The join records of a record.
  private let joins: JoinPartners
  /// The ids in a join record.
  private let keys: JoinKeyReader
  private let idForm: ReferenceForm
  @exclusivity(unchecked) private var writer = KeyWriter()

  init(
    _ joins: JoinPartners, _ keys: JoinKeyReader, _ query: QueryDescription,
    in collection: CollectionHandle, context: TransactionContext,
    typed: TypedAccess, keepsFound: Bool
  ) throws {
    self.joins = joins
    self.keys = keys
    idForm = try keys.idForm(in: collection)
    try super.init(
      query, PartnerRules(isOrderedByID: false, mayRepeat: true, keepsFound: keepsFound),
      in: collection, context: context, typed: typed)
  }

  override func collect(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
    try joins.find(record, id: id)
    for place in 0..<joins.count {
      let join = joins.record(at: place)
      try keys.forEachKey(
        of: join, id: joins.id(at: place), as: JoinKeyForm(), in: &writer
      ) { writer in
        try keys.withID(idForm, &writer) { try addRecord($0, isListed: false) }
      }
    }
  }

  override func close() {
    joins.close()
    super.close()
  }

  override var counters: ExecutionCounters {
    var counters = super.counters
    counters.add(joins.counters)
    return counters
  }
}
