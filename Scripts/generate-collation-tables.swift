@_spi(_Unicode) import Swift

// Prints Sources/Larch/Key/CollationTables.swift from the collation data of CLDR in this machine's
// Foundation:
//
//   Scripts/generate.sh collation-tables > Sources/Larch/Key/CollationTables.swift
//
// Index keys in files are made with these tables, so newer data is a new `CollationTables.version`, not
// something to take along with a new compiler. What does not fit the model below is printed as an error.

// MARK: The model, which CollationKeys has too

let root = Collator("root")
var rootSingles: [UInt32: [Element]] = [:]

func rootSingle(_ scalar: UInt32) -> [Element] {
  if let known = rootSingles[scalar] { return known }
  let elements = root.elements([scalar])
  rootSingles[scalar] = elements
  return elements
}

struct Model {
  var singles: [UInt32: [Element]] = [:]
  var sequences: [UInt32: [[UInt32]: [Element]]] = [:]

  mutating func set(_ scalars: [UInt32], _ elements: [Element]) {
    if scalars.count == 1 {
      singles[scalars[0]] = elements
    } else if elements.isEmpty {
      sequences[scalars[0]]?[scalars] = nil
    } else {
      sequences[scalars[0], default: [:]][scalars] = elements
    }
  }

  /// The elements of decomposed scalars: of the longest sequence, then of marks that join it.
  func elements(_ scalars: [UInt32]) -> [Element] {
    var rest = scalars
    var found: [Element] = []
    var place = 0
    while place < rest.count {
      let first = rest[place]
      guard let known = sequences[first] else {
        found += singles[first] ?? rootSingle(first)
        place += 1
        continue
      }
      var match = [first]
      for length in stride(from: rest.count - place, to: 1, by: -1)
      where known[Array(rest[place..<place + length])] != nil {
        match = Array(rest[place..<place + length])
        break
      }
      let contiguous = match.count
      var next = place + contiguous
      var lastClass: UInt8 = 0
      while next < rest.count {
        let own = combiningClass(rest[next])
        if own == 0 { break }
        if own > lastClass, known[match + [rest[next]]] != nil {
          match.append(rest.remove(at: next))
        } else {
          lastClass = own
          next += 1
        }
      }
      found += match.count == 1 ? singles[first] ?? rootSingle(first) : known[match]!
      place += contiguous
    }
    return found
  }
}

// MARK: Root

let assigned = (UInt32(0)...0x10FFFF).filter {
  Unicode.Scalar($0) != nil && swift_u_charType(UChar32($0)) != 0
}
let syllables: ClosedRange<UInt32> = 0xAC00...0xD7A3
let composites = assigned.filter { !syllables.contains($0) && decomposed([$0]).count > 1 }
/// Ideographs weigh by their code point, after all letters: `CollationData` computes it. ICU's root has
/// them by radical and strokes, which would need a table of 100,000.
var ideographs: [UInt32: UInt32] = [:]
for scalar in assigned where Unicode.Scalar(scalar)!.properties.isUnifiedIdeograph {
  let elements = rootSingle(scalar)
  if elements.count == 1 { ideographs[elements[0].primary] = scalar }
}

let lastIdeograph = ideographs.keys.max()!

/// Whether a scalar weighs by its code point: ideographs, and what is not assigned.
func isImplicit(_ elements: [Element]) -> Bool {
  elements.count == 1
    && (elements[0].primary > lastIdeograph || ideographs[elements[0].primary] != nil)
}

func joinedModel(
  _ collator: Collator, from base: Model, _ candidates: [[UInt32]]
) -> (model: Model, own: [(scalars: [UInt32], elements: [Element])]) {
  var model = base
  var own: [(scalars: [UInt32], elements: [Element])] = []
  var seen: Set<[UInt32]> = []
  for scalars in candidates.map(decomposed).sorted(by: {
    $0.count != $1.count ? $0.count < $1.count : $0.lexicographicallyPrecedes($1)
  }) where seen.insert(scalars).inserted {
    let wanted = collator.elements(scalars)
    if model.elements(scalars) == wanted { continue }
    // Without elements: a sequence of root that is none here, so that no mark joins it over others.
    var changed = wanted
    if scalars.count > 1 {
      var without = model
      without.set(scalars, [])
      if without.elements(scalars) == wanted { changed = [] }
      if wanted.isEmpty { complain("\(scalars) has no weight, which the tables cannot say") }
    }
    model.set(scalars, changed)
    own.append((scalars, changed))
  }
  return (model, own)
}

let rootContractions = root.contractions()
let compositeSequences = composites.map { [$0] }
let (rootModel, rootSequences) = joinedModel(
  root, from: Model(), rootContractions + compositeSequences)

// MARK: Languages

/// The names of ICU and of BCP 47 of the orders that are not the standard one of their language.
let others = [
  ("de@collation=phonebook", "de-u-co-phonebk"),
  ("de_AT@collation=phonebook", "de-AT-u-co-phonebk"),
  ("es@collation=traditional", "es-u-co-trad"), ("fi@collation=traditional", "fi-u-co-trad"),
  ("sv@collation=traditional", "sv-u-co-trad"), ("bn@collation=traditional", "bn-u-co-trad"),
  ("kn@collation=traditional", "kn-u-co-trad"), ("vi@collation=traditional", "vi-u-co-trad"),
  ("si@collation=dictionary", "si-u-co-dict"), ("ar@collation=compat", "ar-u-co-compat"),
  ("ln@collation=phonetic", "ln-u-co-phonetic"),
]
/// Chinese and Korean sort ideographs by tables of 46,000 and 8,000; they get root's order.
let leftOut = ["zh", "ko"]

struct Language {
  var name: String
  var own: [(scalars: [UInt32], elements: [Element])] = []
  var scripts: [Int32] = []
  /// 1: accents count from the end; 2: upper case first; 4: spaces and signs do not count.
  var traits: UInt32 = 0
}

var languages: [Language] = []
var available = (0..<swift_ucol_countAvailable()).map {
  String(cString: swift_ucol_getAvailable($0))
}
available.removeAll { $0.hasSuffix("POSIX") || $0 == "root" }
for (locale, name) in available.map({ ($0, $0.split(separator: "_").joined(separator: "-")) })
  + others
{
  let isRoot = leftOut.contains { name == $0 || name.hasPrefix($0 + "-") }
  let collator = Collator(isRoot ? "root" : locale)
  var language = Language(name: name)
  let tailored = collator.tailored()
  if !tailored.isEmpty {
    let candidates = tailored + collator.contractions() + rootContractions + compositeSequences
    language.own = joinedModel(collator, from: rootModel, candidates).own
  }
  language.scripts = collator.reordered()
  if collator.attribute(UCOL_FRENCH_COLLATION) == UCOL_ON { language.traits |= 1 }
  switch collator.attribute(UCOL_CASE_FIRST) {
  case UCOL_UPPER_FIRST: language.traits |= 2
  case UCOL_OFF: break
  default: complain("\(name): lower case comes first, which the tables do not know")
  }
  if collator.attribute(UCOL_ALTERNATE_HANDLING) == UCOL_SHIFTED { language.traits |= 4 }
  languages.append(language)
}

// MARK: Ranks instead of weights

var primaries: Set<UInt32> = []
var secondaries: Set<UInt32> = [common]
var tertiaries: Set<UInt32> = [common]
func collect(_ elements: [Element]) {
  for element in elements {
    if element.primary != 0, ideographs[element.primary] == nil {
      primaries.insert(element.primary)
    }
    if element.secondary != 0 { secondaries.insert(element.secondary) }
    if element.tertiary != 0 { tertiaries.insert(element.tertiary) }
  }
}
let singles = assigned.filter {
  !syllables.contains($0) && decomposed([$0]) == [$0] && !isImplicit(rootSingle($0))
}
singles.forEach { collect(rootSingle($0)) }
rootSequences.forEach { collect($0.elements) }
let lastRootPrimary = primaries.max()!
for language in languages { language.own.forEach { collect($0.elements) } }
let primaryRanks = Dictionary(
  uniqueKeysWithValues: primaries.sorted().enumerated().map { ($1, UInt32($0 + 1)) })
let secondaryRanks = Dictionary(
  uniqueKeysWithValues: secondaries.sorted().enumerated().map { ($1, UInt32($0 + 1)) })
let tertiaryList = tertiaries.sorted()
let tertiaryRanks = Dictionary(
  uniqueKeysWithValues: tertiaryList.enumerated().map { ($1, UInt32($0 + 1)) })
for language in languages {
  for own in language.own
  where own.elements.contains(where: {
    $0.primary > ideographs.keys.min()! && ideographs[$0.primary] == nil
  }) {
    complain("\(language.name): \(own.scalars) comes after ideographs")
  }
}

// Scripts: where each begins among the ranks. One ends where the next one begins.
let hani = Int32(USCRIPT_HAN.rawValue)
func scriptCode(_ scalar: UInt32) -> Int32 {
  var status = U_ZERO_ERROR
  let code = Int32(swift_uscript_getScript(UChar32(scalar), &status).rawValue)
  return code == Int32(USCRIPT_HIRAGANA.rawValue) ? Int32(USCRIPT_KATAKANA.rawValue) : code
}
let lastDigit = primaryRanks[rootSingle(0x39)[0].primary]!
var scriptRanks: [Int32: [UInt32]] = [:]
for scalar in singles {
  let type = swift_u_charType(UChar32(scalar))
  let elements = rootSingle(scalar)
  // Letters; what is Common or Inherited is in no script.
  guard (1...5).contains(type), scriptCode(scalar) > 1, elements.count == 1,
    let rank = primaryRanks[elements[0].primary], rank > lastDigit
  else { continue }
  scriptRanks[scriptCode(scalar), default: []].append(rank)
}
var starts: [(code: Int32, rank: UInt32)] = scriptRanks.map { ($0, $1.min()!) }
starts.sort { $0.rank < $1.rank }
let wantedScripts = Set(languages.flatMap(\.scripts)).sorted()
for (place, start) in starts.enumerated() where place + 1 < starts.count {
  guard wantedScripts.contains(start.code) else { continue }
  let next = starts[place + 1]
  let last = scriptRanks[start.code]!.max()!
  if last >= next.rank { complain("scripts \(start.code) and \(next.code) overlap") }
}
let ideographRank = primaryRanks[lastRootPrimary]! + 1

// MARK: Text

func text(_ elements: [Element], _ last: inout UInt32) -> String {
  elements.map { text($0, &last) }.joined()
}

/// The first weight: 0 for none, 1 for an ideograph, which follows, else the distance from the one before,
/// plus 2. Then the second and the third one in one number.
func text(_ element: Element, _ last: inout UInt32) -> String {
  var text = ""
  if element.primary == 0 {
    text = digits(0)
  } else if let ideograph = ideographs[element.primary] {
    text = digits(1) + digits(ideograph)
  } else {
    let rank = primaryRanks[element.primary]!
    text = digits(zigzag(Int(rank) - Int(last)) + 2)
    last = rank
  }
  let second = element.secondary == 0 ? 0 : secondaryRanks[element.secondary]!
  let third = element.tertiary == 0 ? 0 : tertiaryRanks[element.tertiary]!
  return text + digits(second * 128 + third)
}

func text(_ entries: [(scalars: [UInt32], elements: [Element])]) -> String {
  var result = ""
  var first: UInt32 = 0
  var last: UInt32 = 0
  for (scalars, elements) in entries.sorted(by: { $0.scalars.lexicographicallyPrecedes($1.scalars) }
  ) {
    result += digits(UInt32(scalars.count)) + digits(scalars[0] - first)
    first = scalars[0]
    for (before, scalar) in zip(scalars, scalars.dropFirst()) {
      result += digits(zigzag(Int(scalar) - Int(before)))
    }
    result += digits(UInt32(elements.count)) + text(elements, &last)
  }
  return result
}

var singleText = ""
var last: UInt32 = 0
var scalarBefore: UInt32 = 0
var place = 0
func isPlain(_ elements: [Element]) -> Bool {
  elements.count == 1 && elements[0].secondary == common && elements[0].tertiary == common
    && primaryRanks[elements[0].primary] != nil
}
while place < singles.count {
  let scalar = singles[place]
  let elements = rootSingle(scalar)
  var count = 1
  if isPlain(elements) {
    let rank = primaryRanks[elements[0].primary]!
    while place + count < singles.count, singles[place + count] == scalar + UInt32(count),
      isPlain(rootSingle(singles[place + count])),
      primaryRanks[rootSingle(singles[place + count])[0].primary] == rank + UInt32(count)
    {
      count += 1
    }
    singleText += digits((scalar - scalarBefore) * 3) + digits(UInt32(count))
    singleText += digits(zigzag(Int(rank) - Int(last)))
    last = rank + UInt32(count - 1)
  } else if elements.count == 1 {
    singleText += digits((scalar - scalarBefore) * 3 + 1) + text(elements, &last)
  } else {
    singleText += digits((scalar - scalarBefore) * 3 + 2) + digits(UInt32(elements.count))
    singleText += text(elements, &last)
  }
  scalarBefore = scalar
  place += count
}

let tertiaryText = tertiaryList.map { digits($0) }.joined()
let sequenceText = text(rootSequences)
/// For each script that some language has first: its number of ranks from the one before, and its length.
var scriptText = ""
var rankBefore: UInt32 = 0
for code in wantedScripts {
  let number = starts.firstIndex { $0.code == code }
  if number == nil, code != hani { complain("no letters of script \(code)") }
  let start = number.map { starts[$0].rank } ?? ideographRank
  let end =
    number.map { $0 + 1 < starts.count ? starts[$0 + 1].rank : ideographRank }
    ?? UInt32(primaries.count + 1)
  scriptText += digits(zigzag(Int(start) - Int(rankBefore))) + digits(end - start)
  rankBefore = start
}

// Languages with equal tables share them.
var bodies: [(text: String, names: [String])] = []
for language in languages {
  let scripts = language.scripts.map { digits(UInt32(wantedScripts.firstIndex(of: $0)!)) }
  let body =
    digits(language.traits) + digits(UInt32(scripts.count)) + scripts.joined() + text(language.own)
  if let known = bodies.firstIndex(where: { $0.text == body }) {
    bodies[known].names.append(language.name)
  } else {
    bodies.append((body, [language.name]))
  }
}
bodies.removeAll { $0.text == digits(0) + digits(0) }
bodies.sort { $0.names[0] < $1.names[0] }
let rootNames = languages.map(\.name).filter { name in
  !bodies.contains { $0.names.contains(name) }
}

var unicode = [UInt8](repeating: 0, count: 4)
swift_u_getUnicodeVersion(&unicode)
complain(
  "\(primaries.count) first, \(secondaries.count) second, \(tertiaries.count) third weights; "
    + "\(singleText.count + sequenceText.count) characters for root, "
    + "\(bodies.map(\.text.count).reduce(0, +)) for \(bodies.count) others")
let variableEnd = primaryRanks[rootSingle(0x60)[0].primary]!

func languageText(_ body: (text: String, names: [String])) -> String {
  let rules = lines(body.text).split(separator: "\n").map { "    " + $0 }.joined(separator: "\n")
  return """
          (
            "\(body.names.joined(separator: " "))",
            #\"\"\"
    \(rules)
            \"\"\"#
          ),
    """
}

var nameText = ""
for start in stride(from: 0, to: rootNames.count, by: 16) {
  let names = rootNames[start..<min(start + 16, rootNames.count)]
  nameText += "    " + names.joined(separator: " ") + "\n"
}

print(
  """
  // Generated by Scripts/generate-collation-tables.swift; do not edit.

  /// The collation data of CLDR as text: numbers in digits of five bits from the character 0 on, the
  /// lowest first, the sixth bit saying that more follow. Text, since it compiles at once.
  ///
  /// A primary weight is its rank among those of all languages; an ideograph weighs by its code
  /// point.
  enum CollationTables {
    static let unicodeVersion = "\(unicode[0]).\(unicode[1]).0"

    /// The number of the secondary weight of a letter without an accent.
    static let commonSecondary: UInt16 = \(secondaryRanks[common]!)
    /// The number of the tertiary weight of a small letter.
    static let commonTertiary: UInt16 = \(tertiaryRanks[common]!)
    /// The number of primary weights.
    static let primaryCount = \(primaries.count)
    /// The first primary weight that is no space and no punctuation.
    static let firstSymbol: UInt32 = \(variableEnd)
    /// The first primary weight of a script.
    static let firstLetter: UInt32 = \(starts[0].rank)
    /// The primary weights from here on are those of ideographs that a language sorts itself.
    static let firstIdeograph: UInt32 = \(ideographRank)
    /// The place of Han among `scripts`.
    static let han = \(wantedScripts.firstIndex(of: hani)!)

    /// The tertiary weights by number, from 1 on. The two highest of 16 bits are the case.
    static let tertiaries: StaticString = #\"\"\"
  \(lines(tertiaryText))    \"\"\"#

    /// The primary weights of scripts: distance from the start of the script before, sign in the
    /// lowest bit, and length.
    static let scripts: StaticString = #\"\"\"
  \(lines(scriptText))    \"\"\"#

    /// Root's elements of scalars that do not decompose: three times the distance from the scalar
    /// before, plus a kind. Kind 0: so many scalars with primary weights that follow each other; their
    /// number, and the distance of the first weight. 1: one element. 2: their number, then each.
    static let singles: StaticString = #\"\"\"
  \(lines(singleText))    \"\"\"#

    /// Root's elements of sequences: number of scalars, distance of the first one from that of the
    /// sequence before, distance of each of the others from the one before, number of elements, then
    /// each. A sequence without elements is none.
    static let sequences: StaticString = #\"\"\"
  \(lines(sequenceText))    \"\"\"#

    /// Languages with an order of their own, and their own elements: the traits (1: accents count from
    /// the end; 2: upper case first; 4: spaces and signs do not count), the number of scripts that
    /// come first, each by its place in `scripts`, and sequences as above, also of one scalar.
    static let languages: [(names: StaticString, rules: StaticString)] = [
  \(bodies.map(languageText).joined(separator: "\n"))
    ]

    /// Languages that sort as root does.
    static let sortedAsRoot: StaticString = \"\"\"
  \(nameText)    \"\"\"
  }
  """)
