/// Finds the most similar existing name for a name that does not exist.
package enum SimilarName {
  /// Longer names are not compared: nobody types them.
  private static let lengthLimit = 64

  /// The name with the fewest differences; nil if all differ too much.
  package static func best(for name: String, among known: [String]) -> String? {
    let wanted = Array(name.lowercased())
    guard wanted.count <= lengthLimit else { return nil }
    let limit = max(1, wanted.count / 3)
    var best: (name: String, distance: Int)?
    for candidate in known {
      let other = Array(candidate.lowercased())
      guard other.count <= lengthLimit else { continue }
      var distance = self.distance(wanted, other)
      // The last part alone is a good guess too: `city` for `address.city`.
      if let last = candidate.split(separator: ".").last, last.count < candidate.count {
        distance = min(distance, self.distance(wanted, Array(last.lowercased())) + 1)
      }
      if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.name
  }

  /// The number of insertions, deletions, changes and swaps of neighbouring characters.
  private static func distance(_ a: [Character], _ b: [Character]) -> Int {
    var before: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var cost = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
        row.append(cost)
      }
      before = last
      last = row
    }
    return last[b.count]
  }
}
