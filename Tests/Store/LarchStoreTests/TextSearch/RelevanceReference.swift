import Foundation

@testable import Larch

/// The scores of records by the formula as it is written, word by word, from the texts alone.
struct RelevanceReference {
  /// For each record the words of each text of each field, in the order of the index.
  private let records: [[[[[UInt8]]]]]

  /// - Parameter texts: for each record the texts of each field of the index, in its order.
  init(_ texts: [[[String]]], _ rules: WordRules = .standard) {
    records = texts.map { fields in
      fields.map { $0.map { text in TextWords(of: text, rules: rules).map { Array($0.utf8) } } }
    }
  }

  /// - Parameter weights: for each field of the index; nil if the test does not have it.
  func scores(_ query: TextQuery, _ weights: [Double?]) -> [Double] {
    var wanted: [TextQuery.Phrase] = []
    query.node.collect(into: &wanted)
    let total = Double(records.count)
    let averages = weights.indices.map { field in
      Double(records.reduce(0) { $0 + length($1, field) }) / max(1, total)
    }
    var scores = [Double](repeating: 0, count: records.count)
    for phrase in wanted {
      let counts = records.map { record in
        weights.indices.map { weights[$0] == nil ? 0 : count(phrase, record[$0]) }
      }
      let having = Double(counts.count { $0.contains { $0 > 0 } })
      let rarity = Double(Float(log(1 + (total - having + 0.5) / (having + 0.5))))
      for (place, record) in records.enumerated() {
        var f = 0.0
        for field in weights.indices {
          guard let weight = weights[field], weight > 0, counts[place][field] > 0 else { continue }
          let norm = 1 - 0.75 + 0.75 * Double(length(record, field)) / averages[field]
          f += weight * Double(counts[place][field]) / norm
        }
        if f > 0 { scores[place] += rarity * f * (1.2 + 1) / (1.2 + f) }
      }
    }
    return scores
  }

  private func length(_ record: [[[[UInt8]]]], _ field: Int) -> Int {
    record[field].reduce(0) { $0 + $1.count }
  }

  /// How often a phrase stands in the texts of a field.
  private func count(_ phrase: TextQuery.Phrase, _ texts: [[[UInt8]]]) -> Int {
    texts.reduce(0) { sum, words in
      guard words.count >= phrase.words.count else { return sum }
      return sum
        + (0...words.count - phrase.words.count).count { start in
          phrase.words.indices.allSatisfy { place in
            phrase.words[place].standsPlainly(for: words[start + place])
          }
        }
    }
  }
}

extension TextQuery.Node {
  fileprivate func collect(into phrases: inout [TextQuery.Phrase]) {
    switch self {
    case .all(let nodes), .any(let nodes): for node in nodes { node.collect(into: &phrases) }
    case .not: break
    case .phrase(let phrase): phrases.append(phrase)
    }
  }
}
