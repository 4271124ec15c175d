import LarchTestSupport

@testable import Larch

/// The same operations through the explicit API, with what a careful program would note itself.
final class ExplicitHands<R: Subject> {
  enum Stored: Equatable {
    case absent
    case known(R)
    case uncertain
  }

  struct Hand {
    var record: R
    var stored: Stored
    var isMarked = false
    /// What ``revert`` goes back to.
    var reference: R
    /// Which variable it is, and how it began: what is left of it when its begin is undone.
    let number: Int
    var begin: (id: R.ID, stored: Stored, reference: R)
  }

  var hands: [Hand] = []
  var log: [String] = []
  private var made = 0
  /// How many of the running transactions will be undone.
  private var undone = 0
  /// The hands as they were when the running transaction and its savepoints began.
  private var begins: [[Hand]] = []

  init(_ records: [R]) { hands = records.map { hand($0, .absent) } }

  private func hand(_ record: R, _ stored: Stored, isCertain: Bool = true) -> Hand {
    made += 1
    return Hand(
      record: record, stored: stored, reference: record, number: made,
      begin: (record.id, isCertain ? stored : .uncertain, record))
  }

  func run(_ operation: Operation<R>, on store: Store) throws {
    guard case .transaction(let inner, let isUndone) = operation else {
      // What fails in a transaction of its own is undone with it.
      return try run(operation, in: store)
    }
    begins.append(hands)
    undone += isUndone ? 1 : 0
    defer { undone -= isUndone ? 1 : 0 }
    do {
      try store.write { tx throws in
        for operation in inner { try run(operation, in: tx) }
        if isUndone { throw Stop() }
      }
    } catch is Stop { undo() }
    begins.removeLast()
  }

  /// The store is as it was; what was changed in memory stays, but for ids.
  private func undo() {
    for slot in hands.indices {
      let old = begins[begins.count - 1][slot]
      if old.number == hands[slot].number {
        hands[slot].stored = old.stored
        hands[slot].reference = old.reference
        hands[slot].record.id = old.record.id
      } else {
        hands[slot].stored = hands[slot].begin.stored
        hands[slot].reference = hands[slot].begin.reference
        hands[slot].record.id = hands[slot].begin.id
      }
    }
  }

  private func run(_ operation: Operation<R>, in writer: some RecordWriting) throws {
    var slot: Int?
    do {
      switch operation {
      case .make(let place, let record):
        slot = place
        hands[place] = hand(record, .absent)
      case .set(let place, let field, let number):
        slot = place
        hands[place].record.set(field, number)
      case .persist(let place):
        slot = place
        if undone > 0, hands[place].stored != .absent,
          try !Operation.isAlone(hands[place].record, hands[place].reference, in: writer)
        {
          log.append("left out")
          return
        }
        log.append(try persist(&hands[place], writer))
      case .mark(let place):
        slot = place
        hands[place].isMarked = true
      case .unmark(let place):
        slot = place
        hands[place].isMarked = false
      case .revert(let place):
        slot = place
        revert(&hands[place])
      case .revertField(let place, let field):
        slot = place
        hands[place].record.take(field, from: hands[place].reference)
      case .reload(let place):
        slot = place
        try reload(place, writer)
      case .read(let place, let id):
        slot = place
        let isCertain = try writer._reading { $0.changeCount == 0 }
        if let found = try writer.find(R.self, id) {
          hands[place] = hand(found, .known(found), isCertain: isCertain)
        }
      case .delete(let id): log.append("\(try writer.delete(R.self, id))")
      case .change(let id, let field, let number):
        if var record = try writer.find(R.self, id) {
          record.set(field, number)
          try writer.update(record)
        }
      case .savepoint(let inner, let isUndone):
        guard let tx = writer as? WriteTransaction else { return }
        begins.append(hands)
        undone += isUndone ? 1 : 0
        defer {
          begins.removeLast()
          undone -= isUndone ? 1 : 0
        }
        do {
          try tx.savepoint {
            for operation in inner { try run(operation, in: tx) }
            if isUndone { throw Stop() }
          }
        } catch is Stop { undo() }
      case .transaction: return
      }
    } catch let error as LarchError {
      log.append("\(error.code)")
    }
    if let slot { log.append(state(of: slot)) }
  }

  private func persist(_ hand: inout Hand, _ writer: some RecordWriting) throws -> String {
    let result: String
    switch (hand.isMarked, hand.stored) {
    case (true, .absent): return "nothing"
    case (true, _):
      let isDeleted = try writer.delete(R.self, hand.record.id)
      hand.stored = .absent
      hand.reference = hand.record
      return isDeleted ? "deleted" : "nothing"
    case (false, .absent):
      try writer.insert(&hand.record)
      result = "inserted"
    case (false, .uncertain):
      let now = try writer.find(R.self, hand.record.id)
      var merged = now.map { self.merged(hand, into: $0) } ?? hand.record
      result = now == merged ? "nothing" : now == nil ? "inserted" : "updated"
      try writer.save(&merged)
      hand.record = merged
    case (false, .known(let stored)):
      if stored == hand.record { return "nothing" }
      let now = try writer.find(R.self, hand.record.id)
      var merged = now.map { self.merged(hand, into: $0) } ?? hand.record
      try writer.update(&merged)
      result = now == merged ? "nothing" : "updated"
      hand.record = merged
    }
    hand.stored = .known(hand.record)
    hand.reference = hand.record
    return result
  }

  /// What is stored now, with the fields that were changed in the hand.
  private func merged(_ hand: Hand, into stored: R) -> R {
    var merged = stored
    for field in 0..<5 {
      var taken = hand.reference
      taken.take(field, from: hand.record)
      if taken != hand.reference { merged.take(field, from: hand.record) }
    }
    return merged
  }

  private func revert(_ hand: inout Hand) {
    hand.isMarked = false
    let id = hand.record.id
    hand.record = hand.reference
    if hand.stored == .absent { hand.record.id = id }
  }

  private func reload(_ slot: Int, _ reader: some RecordReading) throws {
    let id = hands[slot].record.id
    if id._isUnassigned { throw LarchError(.idUnassigned, "There is none.") }
    let isCertain = try reader._reading { $0.changeCount == 0 }
    guard let found = try reader.find(R.self, id) else {
      throw LarchError(.recordNotFound, "There is none.")
    }
    hands[slot].record = found
    hands[slot].reference = found
    hands[slot].stored = .known(found)
    hands[slot].isMarked = false
    guard isCertain else { return }
    // Nothing had been changed, so it is true whatever comes of the transaction.
    hands[slot].begin = (id, .known(found), found)
    for level in begins.indices where begins[level][slot].number == hands[slot].number {
      begins[level][slot].stored = .known(found)
      begins[level][slot].reference = found
    }
  }

  func state(of slot: Int) -> String {
    let hand = hands[slot]
    let state: RecordState
    var stored: R?
    if case .known(let record) = hand.stored { stored = record }
    switch (hand.isMarked, hand.stored) {
    case (true, _): state = .deleted
    case (false, .absent): state = .new
    case (false, .uncertain): state = .changed
    case (false, .known(let record)): state = record == hand.record ? .unchanged : .changed
    }
    return "\(slot) \(state) \(hand.isMarked) \(hand.record) \(stored as Any)"
  }
}
