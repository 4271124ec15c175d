/// What some keys and records of a source tell of all of them.
struct PlanSample {
  /// The keys that were looked at, and the number of their entries.
  var keys = 0
  var entries = 0
  /// Those of them that the filter on the keys leaves.
  var passingKeys = 0
  var passingEntries = 0
  /// The approximate number of all keys.
  var keyCount = 0.0
  /// For each record that was looked at, the conditions that are true, by bit.
  var rows: [UInt64] = []
  /// The conditions that the stored bytes decide.
  var decided: UInt64 = 0
}

/// What is known of the keys of a scan beyond the number of their entries.
struct KeyFacts {
  /// The keys that the filter on the keys refuses, each of which is one step.
  var refused: Double
  /// The entries that it leaves.
  var passing: Double
  /// The same at most: a key with many entries may not be among those that were sampled.
  var mostPassing: Double

  /// Adds entries that are all left.
  mutating func add(entries: Double) {
    passing += entries
    mostPassing += entries
  }
}

extension PlanSample {
  /// A guess weighs as much as this number of sampled rows.
  private static let weightOfGuess = 1.0

  /// The keys of a source with a number of entries.
  ///
  /// - Parameter guess: the share of entries that is assumed to pass without a sample.
  func facts(entries total: Double, guess: Double) -> KeyFacts {
    // Of many ranges only some were looked at.
    if keys == 0 { return KeyFacts(refused: 0, passing: 0, mostPassing: total) }
    let part = keyCount / Double(keys)
    if part <= 1 {
      let passing = Double(passingEntries)
      return KeyFacts(
        refused: Double(keys - passingKeys), passing: passing, mostPassing: passing)
    }
    // Of few sampled keys none may pass, and a key with many entries may not be among them.
    let weight = PlanSample.weightOfGuess
    let share =
      (Double(passingEntries) + guess * weight * Double(entries) / Double(keys))
      / (Double(entries) * (1 + weight / Double(keys)))
    let sampled = min(total, Double(entries) * part)
    return KeyFacts(
      refused: min(total, keyCount) * Double(keys - passingKeys) / Double(keys),
      passing: sampled * share + (total - sampled) * guess,
      mostPassing: sampled * share + (total - sampled))
  }

  /// The share of rows for which conditions are true.
  ///
  /// - Parameter guess: the share that is assumed without a sample.
  func share(of places: UInt64, guess: Double) -> Double {
    let found = rows.count { $0 & places & decided == places & decided }
    return (Double(found) + guess * PlanSample.weightOfGuess)
      / (Double(rows.count) + PlanSample.weightOfGuess)
  }
}
