internal import Larch
internal import LarchTestSupport

/// An account; the sum of all accounts never changes.
struct Purse: Record, Equatable {
  var id: Int
  var owner: String
  /// The one field without an index.
  var color: Int
  var balance: Int

  static let count = 40
  static let opening = 1000

  static let schema = Schema<Purse> {
    Unique(\.owner)
    Index(\.balance)
  }

  init(_ id: Int) {
    self.id = id
    owner = "owner \(id)"
    color = id % 3
    balance = Purse.opening
  }
}

/// The record of a transfer, under the number of its attempt.
struct Transfer: Record, Equatable {
  var id: Int
  var source: Int
  var target: Int
  var amount: Int

  static let schema = Schema<Transfer> {
    Index(\.source)
    Index(\.target)
  }

  /// The transfer of an attempt is a function of its number.
  init(_ attempt: Int, seed: UInt64) {
    var random = SeededGenerator(seed: seed &+ UInt64(attempt) &* 0x9E37_79B9_7F4A_7C15)
    id = attempt
    source = Int.random(in: 0..<Purse.count, using: &random)
    // Another one than the source.
    target = (source + Int.random(in: 1..<Purse.count, using: &random)) % Purse.count
    amount = Int.random(in: 1...100, using: &random)
  }
}

/// What makes the map grow.
struct Ballast: Record {
  var id: Int
  var text: String
}

/// The work of a write beside its transfer.
enum StressKind: String, CaseIterable {
  case plain
  /// A savepoint in the middle throws, which is caught.
  case savepoint
  case throwsInTheMiddle, throwsAtTheEnd
  /// A savepoint throws, and nobody catches it.
  case throwsInSavepoint
  /// A rule is broken, and Larch's error is passed on.
  case conflict
  /// Several pages are written.
  case large
  /// Another write is asked for in the middle, which throws.
  case nested
  /// Nothing is changed.
  case idle

  /// Whether its transfer is kept unless it is cancelled.
  var isKept: Bool {
    switch self {
    case .plain, .savepoint, .large, .nested: true
    case .throwsInTheMiddle, .throwsAtTheEnd, .throwsInSavepoint, .conflict, .idle: false
    }
  }
}

/// An error that a closure throws itself.
struct StressError: Error {
  var attempt: Int
}

/// An attempt to write.
struct Attempt: Sendable {
  var number: Int
  var kind: StressKind
  /// Flushed once instead of twice, where no power can fail.
  var isRelaxed: Bool
}
