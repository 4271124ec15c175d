@_spi(_Unicode) import Swift
import _FoundationICU

// Prints random pairs of texts in the order that ICU gives them, for CollationRecordedTests:
//
//   Scripts/generate.sh collation-pairs > Tests/Parts/LarchKeyTests/Recorded/collation-pairs.txt
//
// A number after the name sets how many pairs it prints for each language. The test reads such a file if
// LARCH_COLLATION_PAIRS names it, and tells how many pairs differ.

var state: UInt64 = 20
func random(below bound: Int) -> Int {
  state &+= 0x9E37_79B9_7F4A_7C15
  var z = state
  z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
  z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
  return Int((z ^ (z >> 31)) % UInt64(bound))
}

let count = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1])! : 40
let languages = [
  "root", "en", "de", "de@collation=phonebook", "fr", "fr_CA", "es", "es@collation=traditional",
  "nb", "da",
  "sv", "fi", "is", "pl", "cs", "sk", "hu", "tr", "az", "lt", "lv", "et", "hr", "sl", "sq", "ro",
  "cy",
  "eo", "vi", "mt", "ja", "ru", "uk", "be", "bg", "sr", "mk", "el", "he", "ar", "fa", "ur", "th",
  "hi",
  "bn", "ta", "te", "kn", "ml", "mr", "gu", "pa", "si", "km", "lo", "my", "ka", "hy", "am", "kk",
  "ky",
  "mn", "uz", "haw", "yo", "ig", "ha", "to", "se", "ee", "fo", "gl", "br",
]
/// Letters, marks and signs of many scripts that no language of the list is about.
let others: [UInt32] =
  Array(0x20...0x7E) + Array(0xA0...0x24F) + Array(0x300...0x345) + Array(0x386...0x3CE)
  + Array(0x400...0x45F) + Array(0x5D0...0x5EA) + Array(0x621...0x64A) + Array(0x905...0x94D)
  + Array(0xE01...0xE4D) + Array(0x1E00...0x1EFF) + Array(0x2010...0x2030) + Array(0x3041...0x30FE)
  + Array(0xAC00...0xAC40) + [0x1F600, 0x1F44D, 0x200B, 0xAD, 0x1D400, 0xFF21]

/// ICU sorts ideographs by radical and strokes, and Larch by their code points.
func isIdeographic(_ scalars: [UInt32]) -> Bool {
  scalars.contains {
    Unicode.Scalar($0)!.properties.isIdeographic || (0x2E80...0x2FDF).contains($0)
  }
}

func text(_ scalars: [UInt32]) -> String {
  scalars.isEmpty ? "-" : scalars.map { String($0, radix: 16) }.joined(separator: ",")
}

for language in languages {
  let collator = Collator(language)
  collator.normalize()
  let name = language.split(separator: "_").joined(separator: "-")
    .replacing("@collation=phonebook", with: "-u-co-phonebk")
    .replacing("@collation=traditional", with: "-u-co-trad")
  print("language \(name)")
  let own = (collator.tailored() + (language == "root" ? collator.contractions() : [])).filter {
    language == "ja" || !isIdeographic($0)
  }
  func item() -> [UInt32] {
    switch random(below: 10) {
    case 0..<5 where !own.isEmpty:
      let item = own[random(below: own.count)]
      // In the other case, or taken apart.
      var text = String(String.UnicodeScalarView(item.map { Unicode.Scalar($0)! }))
      if random(below: 4) == 0 {
        text = random(below: 2) == 0 ? text.uppercased() : text.lowercased()
      }
      let scalars = text.unicodeScalars.map(\.value)
      return random(below: 3) == 0 ? text._nfd.map(\.value) : scalars
    case 5..<8: return [UInt32(97 + random(below: 26))]
    default:
      let scalar = others[random(below: others.count)]
      return Unicode.Scalar(scalar)!.properties.generalCategory == .unassigned ? [0x61] : [scalar]
    }
  }
  for _ in 0..<count {
    let first = (0..<random(below: 6)).map { _ in item() }
    // Mostly texts that differ little, since others are decided by one letter.
    var second = random(below: 4) == 0 ? (0..<random(below: 6)).map { _ in item() } : first
    if random(below: 3) == 0, !second.isEmpty { second.remove(at: random(below: second.count)) }
    if random(below: 2) == 0 { second.insert(item(), at: random(below: second.count + 1)) }
    if random(below: 3) == 0, second.count > 1 {
      second.swapAt(random(below: second.count), random(below: second.count))
    }
    let a = Array(first.joined())
    let b = Array(second.joined())
    let order = collator.compare(a, b)
    print("\(text(a)) \(order < 0 ? "<" : order > 0 ? ">" : "=") \(text(b))")
  }
}
