/// Compares two texts by line and shows where they differ.
public enum TextDifference {
  /// The lines that differ, marked `-` (only in `expected`) and `+` (only in `actual`), with two
  /// equal lines around each place; nil when the texts are equal.
  ///
  /// - Complexity: O(n · d) for n lines of which d differ.
  public static func between(expected: String, actual: String) -> String? {
    if expected == actual, expected.utf8.elementsEqual(actual.utf8) { return nil }
    let old = expected.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let new = actual.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var removed = Set<Int>()
    var inserted = Set<Int>()
    for change in new.difference(from: old, by: { $0.utf8.elementsEqual($1.utf8) }) {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var lines: [(mark: Character, text: String)] = []
    var left = 0
    var right = 0
    while left < old.count || right < new.count {
      if left < old.count, removed.contains(left) {
        lines.append(("-", old[left]))
        left += 1
      } else if right < new.count, inserted.contains(right) {
        lines.append(("+", new[right]))
        right += 1
      } else {
        lines.append((" ", old[left]))
        left += 1
        right += 1
      }
    }
    return shown(lines)
  }

  private static func shown(_ lines: [(mark: Character, text: String)]) -> String {
    let context = 2
    var keep = [Bool](repeating: false, count: lines.count)
    for (number, line) in lines.enumerated() where line.mark != " " {
      for near in max(0, number - context)...min(lines.count - 1, number + context) {
        keep[near] = true
      }
    }
    var result: [String] = []
    var isGap = false
    for (number, line) in lines.enumerated() {
      if keep[number] {
        result.append("\(line.mark) \(line.text)")
        isGap = false
      } else if !isGap {
        result.append("  …")
        isGap = true
      }
    }
    return result.joined(separator: "\n")
  }
}
