import Foundation
import Workload

/// Texts as people write them, as far as an index of words sees: few words are common, most are rare.
///
/// Word number *r* is drawn with a chance of 1 / *r*^1.05, as in Zipf's law. Everything comes from one
/// seed, so that each peer, round and run has the same texts.
struct TextWorkload {
  /// What a record has beside its id, which is its number in the workload.
  struct Text {
    var title: String
    var body: String
    var year: Int
  }

  /// How many words the fields have.
  struct Lengths {
    var title: ClosedRange<Int>
    var body: ClosedRange<Int>

    /// 32 words, as a message or a product has.
    static let short = Lengths(title: 3...9, body: 16...36)
    /// 2,000 words, as an article or a chapter has.
    static let long = Lengths(title: 3...9, body: 1_000...3_000)

    /// The mean of both fields together.
    var mean: Double {
      Double(title.lowerBound + title.upperBound + body.lowerBound + body.upperBound) / 2
    }
  }

  static let wordCount = 60_000
  private static let exponent = 1.05

  /// The common ones first.
  let words: [String]
  let lengths: Lengths
  let count: Int
  /// The chance that a drawn word is this one or an earlier one.
  private let chances: [Double]
  /// In half of all cases the second of these follows the first, as in the name of a city.
  private(set) var pair = (first: 0, second: 0)

  init(count: Int, lengths: Lengths) {
    self.count = count
    self.lengths = lengths
    words = TextWorkload.words()
    let weights = (1...TextWorkload.wordCount).map { pow(Double($0), -TextWorkload.exponent) }
    let sum = weights.reduce(0, +)
    var total = 0.0
    chances = weights.map { weight in
      total += weight / sum
      return total
    }
    let first = word(inShareOfTexts: 0.02)
    pair = (first, first + 1)
  }

  /// The number of the word that about this part of all texts have, or of texts of other lengths.
  func word(inShareOfTexts share: Double, of lengths: Lengths? = nil) -> Int {
    let chance = 1 - pow(1 - share, 1 / (lengths ?? self.lengths).mean)
    var place = 0
    while place < words.count - 1, chances[place] - (place > 0 ? chances[place - 1] : 0) > chance {
      place += 1
    }
    return place
  }

  /// A text by its number; another edition is another text.
  func text(_ number: Int, edition: Int = 0) -> Text {
    var stream = RandomStream(operation: UInt64(number) << 16 | UInt64(edition))
    let year = 1990 + stream.below(36)
    let title = sentence(lengths.title, &stream)
    return Text(title: title, body: sentence(lengths.body, &stream), year: year)
  }

  /// A word as texts have them.
  func word(_ stream: inout RandomStream) -> Int {
    let chance = Double(stream.next() >> 11) / Double(1 << 53)
    var (low, high) = (0, words.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if chances[middle] > chance { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private func sentence(_ lengths: ClosedRange<Int>, _ stream: inout RandomStream) -> String {
    var text = ""
    var last: Int?
    for place in 0..<(lengths.lowerBound + stream.below(lengths.count)) {
      let follows = last == pair.first && stream.below(2) == 0
      let next = follows ? pair.second : word(&stream)
      if place > 0 { text += " " }
      text += words[next]
      last = next
    }
    return text
  }

  /// Different words of syllables, the common ones short.
  private static func words() -> [String] {
    let consonants = Array("bcdfghjklmnprstvwz")
    let vowels = Array("aeiou")
    var stream = RandomStream(operation: 0x57_4F_52_44)
    var known: Set<String> = []
    var words: [String] = []
    while words.count < wordCount {
      let syllables = words.count < 200 ? 1 + stream.below(2) : 2 + stream.below(3)
      var word = ""
      for _ in 0..<syllables {
        word.append(consonants[stream.below(consonants.count)])
        word.append(vowels[stream.below(vowels.count)])
      }
      if stream.below(3) > 0 { word.append(consonants[stream.below(consonants.count)]) }
      if known.insert(word).inserted { words.append(word) }
    }
    return words
  }
}
