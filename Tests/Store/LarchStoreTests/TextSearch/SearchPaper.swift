import Foundation
import LarchTestSupport

@testable import Larch

/// An id for large collections of texts.
protocol PaperID: RecordIdentifier {
  static func make(paper number: Int) -> Self
}

extension Int: PaperID {
  // With gaps, and on both sides of 0.
  static func make(paper number: Int) -> Int { number * 3 - 1_000 + (number % 7 == 0 ? 1 : 0) }
}
extension String: PaperID {
  static func make(paper number: Int) -> String { "p\(number * 7919 % 1_000_003)" }
}

/// A text of a large collection: a few words are in most of the texts, most words in few of them, and some stand in
/// one text so often that not all of their places are kept.
struct SearchPaper<Key: PaperID>: Record, Equatable {
  var id: Key
  var title: String
  var body: String?
  var year: Int

  static var collectionName: String { "Paper" }
  static var schema: Schema<Self> {
    Schema {
      Search(\.title, \.body)
      Index(\.year)
    }
  }

  static func random(_ number: Int, _ random: inout SeededGenerator) -> Self {
    var body = Skewed.text(Int.random(in: 0...12, using: &random), &random)
    if Int.random(in: 0..<400, using: &random) == 0 {
      let pair = Skewed.text(2, &random) + " "
      body = "larch " + String(repeating: pair, count: Int.random(in: 130...400, using: &random))
    }
    return Self(
      id: .make(paper: number), title: Skewed.text(Int.random(in: 0...3, using: &random), &random),
      body: Int.random(in: 0..<5, using: &random) == 0 ? nil : body,
      year: Int.random(in: 1990...2030, using: &random))
  }
}

/// Random texts and queries in which the first words of the list are the common ones.
enum Skewed {
  static func word(_ random: inout SeededGenerator) -> String {
    let part = Double.random(in: 0..<1, using: &random)
    return RandomTexts.words[Int(part * part * part * Double(RandomTexts.words.count))]
  }

  static func text(_ count: Int, _ random: inout SeededGenerator) -> String {
    if Int.random(in: 0..<8, using: &random) == 0 { return RandomTexts.text(count, &random) }
    return (0..<count).map { _ in word(&random) }.joined(separator: " ")
  }

  static func query(_ depth: Int, _ random: inout SeededGenerator) -> TextQuery {
    switch Int.random(in: 0..<(depth > 0 ? 10 : 6), using: &random) {
    case 0, 1: return .word(word(&random))
    case 2: return .phrase(text(2, &random))
    case 3: return .phrase(text(3, &random))
    case 4: return .phrase(word(&random) + " " + word(&random).prefix(2), completesLast: true)
    case 5: return .word(word(&random), stemming: .english)
    case 6: return .prefix(String(word(&random).prefix(2)))
    case 7: return query(depth - 1, &random) || query(depth - 1, &random)
    case 8: return query(depth - 1, &random) && !query(depth - 1, &random)
    default: return query(depth - 1, &random) && query(depth - 1, &random)
    }
  }
}
