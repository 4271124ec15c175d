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
      siftUp(slots.count - 1)
    } else if limit > 0, compareBytes(key, TopRows.key(slots[0])) < 0 {
      TopRows.fill(&slots[0], key, idStart, payload)
      siftDown(0, slots.count)
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

  private func isBefore(_ a: Int, _ b: Int) -> Bool {
    compareBytes(TopRows.key(slots[a]), TopRows.key(slots[b])) < 0
  }

  private func siftUp(_ start: Int) {
    var place = start
    while place > 0, isBefore((place - 1) / 2, place) {
      slots.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  private func siftDown(_ start: Int, _ count: Int) {
    var place = start
    while 2 * place + 1 < count {
      var child = 2 * place + 1
      if child + 1 < count, isBefore(child, child + 1) { child += 1 }
      guard isBefore(place, child) else { return }
      slots.swapAt(place, child)
      place = child
    }
  }

  func finish() {
    slots.sort { compareBytes(TopRows.key($0), TopRows.key($1)) < 0 }
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
      var place = heap.count - 1
      while place > 0, heap[(place - 1) / 2] < heap[place] {
        heap.swapAt(place, (place - 1) / 2)
        place = (place - 1) / 2
      }
      if heap.count == limit { bound = UInt64(truncatingIfNeeded: heap[0] >> 64) }
    } else if limit > 0, row < heap[0] {
      heap[0] = row
      var place = 0
      while 2 * place + 1 < heap.count {
        var child = 2 * place + 1
        if child + 1 < heap.count, heap[child] < heap[child + 1] { child += 1 }
        guard heap[place] < heap[child] else { break }
        heap.swapAt(place, child)
        place = child
      }
      bound = UInt64(truncatingIfNeeded: heap[0] >> 64)
    }
  }

  mutating func finish() { heap.sort() }

  mutating func next() -> UInt128? {
    guard place < heap.count else { return nil }
    place += 1
    return heap[place - 1]
  }
}
