/// Compares two texts by line and shows where they differ.
public enum TextDifference {
  /// The lines that differ, marked `-` (only in `expected`) and `+` (only in `actual`), with two
  /// equal lines around each place; nil if the texts are equal.
  ///
  /// ```text
  ///   … 4 equal lines
  ///   collection Person: 2 records
  ///     1 {"age":36,"id":1,"name":"Ada"}
  /// -   2 {"age":41,"id":2,"name":"Bo"}
  /// +   2 {"age":42,"id":2,"name":"Bo"}
  ///     index age: 2 entries
  /// ```
  ///
  /// Lines are equal if their bytes are. For large texts with little in common, it may show more
  /// lines than necessary.
  ///
  /// - Parameters:
  ///   - expected: the expected text.
  ///   - actual: the actual text.
  ///   - lineLimit: the maximum number of lines; a last line then has the number of further ones.
  /// - Complexity: O(n log n) for n lines in most cases; memory O(n).
  public static func between(
    expected: String, actual: String, lineLimit: Int = .max
  ) -> String? {
    if expected.utf8.elementsEqual(actual.utf8) { return nil }
    let old = expected.split(separator: "\n", omittingEmptySubsequences: false)
    let new = actual.split(separator: "\n", omittingEmptySubsequences: false)
    let difference = LineDifference(from: old, to: new)
    var lines: [(mark: Character, text: Substring)] = []
    lines.reserveCapacity(max(old.count, new.count))
    var left = 0
    var right = 0
    while left < old.count || right < new.count {
      if left < old.count, difference.isRemoved[left] {
        lines.append(("-", old[left]))
        left += 1
      } else if right < new.count, difference.isInserted[right] {
        lines.append(("+", new[right]))
        right += 1
      } else {
        lines.append((" ", old[left]))
        left += 1
        right += 1
      }
    }
    return shown(lines, lineLimit)
  }

  private static func shown(_ lines: [(mark: Character, text: Substring)], _ limit: Int) -> String {
    let context = 2
    var keep = [Bool](repeating: false, count: lines.count)
    for (number, line) in lines.enumerated() where line.mark != " " {
      for near in max(0, number - context)...min(lines.count - 1, number + context) {
        keep[near] = true
      }
    }
    var result: [String] = []
    var hidden = 0
    func closeGap() {
      if hidden > 0 { result.append("  … \(hidden) equal \(hidden == 1 ? "line" : "lines")") }
      hidden = 0
    }
    for (number, line) in lines.enumerated() {
      guard keep[number] else {
        hidden += 1
        continue
      }
      closeGap()
      if result.count >= limit {
        let more = lines[number...].count { $0.mark != " " }
        if more > 0 {
          result.append("  … \(more) more \(more == 1 ? "line differs" : "lines differ")")
        }
        return result.joined(separator: "\n")
      }
      result.append("\(line.mark) \(line.text)")
    }
    closeGap()
    return result.joined(separator: "\n")
  }
}
