internal import Foundation

/// The records of one collection that a plan deletes, in the order in which they were found, until
/// they are sorted.
final class RecordsToDelete {
  let collection: CollectionHandle
  let rules: CollectionRules
  @exclusivity(unchecked) private var set: IDSet
  @exclusivity(unchecked) private var list: IDList
  @exclusivity(unchecked) private var place = 0
  /// The id that is being processed, copied because the list moves when it grows.
  private let current: UnsafeMutableRawPointer

  init(_ collection: CollectionHandle, _ rules: CollectionRules) {
    self.collection = collection
    self.rules = rules
    let width = collection.stored.idKind.width
    set = IDSet(width: width)
    list = IDList(width: width)
    current = .allocate(byteCount: RecordIDKind.longest, alignment: 8)
  }

  deinit { current.deallocate() }

  var count: Int { list.count }

  func contains(_ id: UnsafeRawBufferPointer) -> Bool { set.contains(id) }

  /// False if the record was already in the list.
  func insert(_ id: UnsafeRawBufferPointer) -> Bool {
    guard set.insert(id) else { return false }
    list.append(id)
    return true
  }

  /// The next record whose rules were not processed yet, valid until the next call.
  func next() -> UnsafeRawBufferPointer? {
    guard place < list.count else { return nil }
    let id = list[place]
    place += 1
    let count = min(id.count, RecordIDKind.longest)
    if let start = id.baseAddress { memcpy(current, start, count) }
    return UnsafeRawBufferPointer(start: current, count: count)
  }

  /// Starts again with the first, in the order of ids; none may be added after that.
  func sort() {
    list.finish()
    place = 0
  }
}
