/// Finds the partners of an outer record among the inner records.
class JoinPartners {
  /// The number of partners that the last `find` found.
  @exclusivity(unchecked) final var count = 0

  /// Finds the partners of an outer record.
  func find(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {}

  /// The id of a partner, in the order of the inner query.
  func id(at place: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  /// Its verified record, in the map.
  func record(at place: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// A number from 0 on that is the same at every place with this partner; -1 if it is not known.
  func number(at place: Int) -> Int { -1 }

  /// Moves to the next record without a partner, in the order of the inner query; false after the
  /// last one. It is then the only partner.
  func nextAlone() throws -> Bool { false }

  func close() {}
  var counters: ExecutionCounters { ExecutionCounters() }
}
