internal import Foundation

/// The first rows of an order, in a heap whose top is the last of them.
final class TopRows {
  private struct Slot {
    var memory: UnsafeMutableRawPointer
    var capacity: Int
    var keyCount: Int
    var idStart: Int
    var payloadCount: Int
  }

  private let limit: Int
  private var slots: [Slot] = []
  private var place = 0

  init(limit: Int) { self.limit = limit }

  deinit { for slot in slots { slot.memory.deallocate() } }

  /// A row after all that are kept is not copied.
  func add(key: UnsafeRawBufferPointer, idStart: Int, payload: UnsafeRawBufferPointer) {
    if slots.count < limit {
      var slot = Slot(
        memory: .allocate(byteCount: 1, alignment: 1), capacity: 1, keyCount: 0, idStart: 0,
        payloadCount: 0)
      TopRows.fill(&slot, key, idStart, payload)
      slots.append(slot)
      slots.siftUp(TopRows.isLater)
    } else if limit > 0, compareBytes(key, TopRows.key(slots[0])) < 0 {
      TopRows.fill(&slots[0], key, idStart, payload)
      slots.siftDown(TopRows.isLater)
    }
  }

  private static func fill(
    _ slot: inout Slot, _ key: UnsafeRawBufferPointer, _ idStart: Int,
    _ payload: UnsafeRawBufferPointer
  ) {
    let size = key.count + payload.count
    if slot.capacity < size {
      slot.memory.deallocate()
      slot.capacity = size + size / 2
      slot.memory = .allocate(byteCount: slot.capacity, alignment: 1)
    }
    if let start = key.baseAddress { memcpy(slot.memory, start, key.count) }
    if let start = payload.baseAddress {
      memcpy(slot.memory + key.count, start, payload.count)
    }
    slot.keyCount = key.count
    slot.idStart = idStart
    slot.payloadCount = payload.count
  }

  private static func key(_ slot: Slot) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: slot.memory, count: slot.keyCount)
  }

  private static func isLater(_ a: Slot, _ b: Slot) -> Bool {
    compareBytes(key(a), key(b)) > 0
  }

  func finish() {
    slots.sort { TopRows.isLater($1, $0) }
  }

  func next() -> RowSorter.Row? {
    guard place < slots.count else { return nil }
    let slot = slots[place]
    place += 1
    return RowSorter.Row(
      key: TopRows.key(slot), idStart: slot.idStart,
      payload: UnsafeRawBufferPointer(
        start: slot.memory + slot.keyCount, count: slot.payloadCount))
  }
}

/// The first rows of an order by one number, each as the number followed by the id.
struct TopNumbers: ~Copyable {
  private let limit: Int
  private var heap: [UInt128] = []
  /// A row with a greater number is not among the first.
  private(set) var bound = UInt64.max
  private var place = 0

  init(limit: Int) { self.limit = limit }

  mutating func add(_ row: UInt128) {
    if heap.count < limit {
      heap.append(row)
      heap.siftUp(>)
      if heap.count == limit { bound = UInt64(truncatingIfNeeded: heap[0] >> 64) }
    } else if limit > 0, row < heap[0] {
      heap[0] = row
      heap.siftDown(>)
      bound = UInt64(truncatingIfNeeded: heap[0] >> 64)
    }
  }

  mutating func finish() { heap.sort() }

  /// The rows that are kept, in their order once they are finished.
  var rows: [UInt128] { heap }

  /// The row that comes next.
  var first: UInt128? { place < heap.count ? heap[place] : nil }

  mutating func next() -> UInt128? {
    guard let first else { return nil }
    place += 1
    return first
  }
}
