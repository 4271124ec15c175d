import Workload

/// Makes changes of texts, and knows what all texts became by them.
struct TextChanges {
  private let workload: TextWorkload
  private var texts: [TextWorkload.Text]
  private var stream = RandomStream(operation: 0x43_48_41_4E_47_45)
  private var edition = 0

  init(_ workload: TextWorkload, _ texts: [TextWorkload.Text]) {
    self.workload = workload
    self.texts = texts
  }

  /// Other bodies of some texts: nearly every word of them is another one.
  mutating func bodies(_ count: Int) -> [TextChange] {
    edition += 1
    return (0..<count).map { _ in
      let place = stream.below(texts.count)
      return change(place, workload.text(place + 1, edition: edition).body)
    }
  }

  /// One word of the body of some texts replaced by another one, as a correction does.
  mutating func words(_ count: Int) -> [TextChange] {
    (0..<count).map { _ in
      let place = stream.below(texts.count)
      var words = texts[place].body.split(separator: " ")
      words[stream.below(words.count)] = workload.words[workload.word(&stream)][...]
      return change(place, words.joined(separator: " "))
    }
  }

  private mutating func change(_ place: Int, _ body: String) -> TextChange {
    texts[place].body = body
    return TextChange(id: Int64(place + 1), body: body)
  }

  /// What a store has that has had all changes.
  func all() -> QueryResult {
    var result = QueryResult()
    for (place, text) in texts.enumerated() {
      FoundText(id: Int64(place + 1), title: text.title, body: text.body, year: text.year)
        .add(to: &result, .bytes)
    }
    return result
  }
}
