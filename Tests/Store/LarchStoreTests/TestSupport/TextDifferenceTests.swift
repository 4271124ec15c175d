import Testing

@testable import LarchTestSupport

@Suite("Text differences")
struct TextDifferenceTests {
  @Test("Equal texts do not differ; others show the lines that do, with two lines around them")
  func difference() {
    #expect(TextDifference.between(expected: "", actual: "") == nil)
    #expect(TextDifference.between(expected: "a\nb\n", actual: "a\nb\n") == nil)
    let old = (1...12).map { "line \($0)" }
    var new = old
    new[5] = "other"
    new.append("more")
    #expect(
      TextDifference.between(
        expected: old.joined(separator: "\n"), actual: new.joined(separator: "\n")) == """
            … 3 equal lines
            line 4
            line 5
          - line 6
          + other
            line 7
            line 8
            … 2 equal lines
            line 11
            line 12
          + more
          """)
    #expect(TextDifference.between(expected: "a", actual: "a\n") == "  a\n+ ")
    #expect(TextDifference.between(expected: "a", actual: "b") == "- a\n+ b")
    // Equal in Swift, but with different bytes, and a store writes bytes.
    #expect(TextDifference.between(expected: "é", actual: "e\u{301}") == "- é\n+ e\u{301}")
    #expect(TextDifference.between(expected: "a\nb\na", actual: "a") == "  a\n- b\n- a")
    #expect(
      TextDifference.between(expected: "a\nb\nc\nd\ne", actual: "a\nb\nc\nx\ne")
        == "  … 1 equal line\n  b\n  c\n- d\n+ x\n  e")
  }

  @Test("A moved line is shown at its old and its new place, and nothing else is shown")
  func moved() {
    let lines = (0..<200).map { "line \($0)" }
    var other = lines
    other.insert(other.remove(at: 10), at: 150)
    let shown = TextDifference.between(
      expected: lines.joined(separator: "\n"), actual: other.joined(separator: "\n"))
    let marked = shown?.split(separator: "\n").filter { !$0.hasPrefix(" ") }
    #expect(marked == ["- line 10", "+ line 10"])
  }

  @Test("Only the requested number of lines is shown, with the number of further ones")
  func limit() {
    let old = (0..<500).map { "old \($0)\nsame \($0)" }.joined(separator: "\n")
    let new = (0..<500).map { "new \($0)\nsame \($0)" }.joined(separator: "\n")
    let shown = TextDifference.between(expected: old, actual: new, lineLimit: 5)
    #expect(
      shown == """
        - old 0
        + new 0
          same 0
        - old 1
        + new 1
          … 996 more lines differ
        """)
    #expect(
      TextDifference.between(expected: "a\nb", actual: "c\nb", lineLimit: 1)
        == "- a\n  … 1 more line differs")
    // What is left out is equal.
    #expect(
      TextDifference.between(expected: "b\na", actual: "b\nc\na", lineLimit: 2) == "  b\n+ c")
  }

  @Test("The unmarked lines and those with one mark are one of the texts")
  func restored() {
    for seed in UInt64(1)...300 {
      var random = SeededGenerator(seed: seed)
      let kinds = Int.random(in: 1...60, using: &random)
      func lines(_ count: Int) -> [String] {
        (0..<count).map { _ in "line \(Int.random(in: 0..<kinds, using: &random))" }
      }
      let old = lines(Int.random(in: 0...60, using: &random))
      var new = old
      for _ in 0..<Int.random(in: 0...20, using: &random) {
        let place = Int.random(in: 0...new.count, using: &random)
        if Bool.random(using: &random) {
          new.insert(contentsOf: lines(1), at: place)
        } else if place < new.count {
          new.remove(at: place)
        }
      }
      expectRestored(old, new, "seed \(seed)")
      expectRestored(old, lines(40), "seed \(seed)")
    }
  }

  @Test("Texts of 20,000 lines with nothing in common, or everything except the order")
  func large() {
    let old = (0..<20_000).map { "old \($0)" }
    expectRestored(old, (0..<20_000).map { "new \($0)" }, "other lines")
    expectRestored(old, Array(old.reversed()), "the other way round")
    var random = SeededGenerator(seed: 9)
    expectRestored(old, old.shuffled(using: &random), "shuffled")
    // Lines that all occur many times, so that none of them shows its place.
    let alike = (0..<20_000).map { _ in "line \(Int.random(in: 0..<50, using: &random))" }
    expectRestored(alike, alike.shuffled(using: &random), "alike")
  }

  @Test("A change in each of many similar records is found at its place")
  func alike() {
    let record = ["{", "  name", "  age", "}"]
    let old = Array(repeating: record, count: 3_000).flatMap(\.self)
    var new = old
    new.remove(at: 6_001)
    let shown = TextDifference.between(
      expected: old.joined(separator: "\n"), actual: new.joined(separator: "\n"))
    #expect(shown?.split(separator: "\n").filter { !$0.hasPrefix(" ") } == ["-   name"])
  }

  private func expectRestored(
    _ old: [String], _ new: [String], _ comment: String,
    _ location: SourceLocation = #_sourceLocation
  ) {
    let difference = LineDifference(
      from: old.map { Substring($0) }, to: new.map { Substring($0) })
    var merged: [String] = []
    var kept = old.indices.filter { !difference.isRemoved[$0] }[...]
    for place in new.indices {
      merged.append(difference.isInserted[place] ? new[place] : old[kept.removeFirst()])
    }
    #expect(merged == new, "\(comment)", sourceLocation: location)
    #expect(kept.isEmpty, "\(comment)", sourceLocation: location)
  }
}
