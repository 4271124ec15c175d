/// The records of the inner side that go with one record of the outer side.
class JoinPartners {
  /// How many the last `find` found.
  @exclusivity(unchecked) final var count = 0

  /// Looks for the partners of a record of the outer side.
  func find(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {}

  /// The id of a partner, in the order of the inner query.
  func id(at place: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  /// Its verified record, in the map.
  func record(at place: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// The same for every place with this partner, from 0 on; -1 where that is not known.
  func number(at place: Int) -> Int { -1 }

  /// Goes to the next record that was never found, in the order of the inner query; false behind
  /// the last one. It is then the only partner.
  func nextAlone() throws -> Bool { false }

  func close() {}
  var counters: ExecutionCounters { ExecutionCounters() }
}
