/// A set of record ids of one collection: those that a scan has returned, or those to delete.
struct IDSet: ~Copyable {
  private let isNarrow: Bool
  private var numbers: Set<UInt64> = []
  private var others: Set<[UInt8]> = []

  init(width: Int?) { isNarrow = width == 8 }

  /// False if the id was already in the set.
  mutating func insert(_ id: UnsafeRawBufferPointer) -> Bool {
    if isNarrow, id.count == 8 {
      return numbers.insert(id.loadUnaligned(as: UInt64.self)).inserted
    }
    return others.insert([UInt8](id)).inserted
  }

  func contains(_ id: UnsafeRawBufferPointer) -> Bool {
    if isNarrow, id.count == 8 {
      return numbers.contains(id.loadUnaligned(as: UInt64.self))
    }
    return !others.isEmpty && others.contains([UInt8](id))
  }
}
