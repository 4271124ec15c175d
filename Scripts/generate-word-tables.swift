// Prints Sources/Larch/Text/WordTables.swift from the Unicode data of this machine's Swift:
//
//   swiftc -O Scripts/generate-word-tables.swift -o /tmp/generate && /tmp/generate > <the file>
//
// Word indexes in files are made with these tables, so a newer Unicode version is a new version of
// `WordRules`, not something to take along with a new compiler.
@_spi(_Unicode) import Swift

// The roles of scalars; `WordData` reads them.
let letter: UInt32 = 1
let single: UInt32 = 2
let mark: UInt32 = 3
let ignored: UInt32 = 4
/// Marks after it are dropped, unless they are kept.
let losesMarks: UInt32 = 8

/// The scalars that a regular expression of one scalar finds: the only public way to scripts.
func scalars(_ pattern: String) throws -> Set<UInt32> {
  let regex = try Regex(pattern).matchingSemantics(.unicodeScalar)
  var found: Set<UInt32> = []
  for value in UInt32(0)...0x10FFFF {
    guard let scalar = Unicode.Scalar(value) else { continue }
    if scalar.properties.generalCategory == .unassigned { continue }
    if try regex.wholeMatch(in: String(scalar)) != nil { found.insert(value) }
  }
  return found
}

let withMarks = try scalars(#"[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]"#)
let common = try scalars(#"\p{sc=Common}"#)
let singles = try scalars(
  #"[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]"#
)

func ownRole(_ scalar: Unicode.Scalar) -> UInt32 {
  let properties = scalar.properties
  // A space without width separates, as in UAX #29.
  if scalar.value == 0x200B { return 0 }
  if properties.isDefaultIgnorableCodePoint || properties.generalCategory == .format {
    return ignored
  }
  switch properties.generalCategory {
  case .nonspacingMark, .spacingMark, .enclosingMark: return mark
  case .decimalNumber: return letter | (common.contains(scalar.value) ? losesMarks : 0)
  case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
    .letterNumber, .otherNumber:
    if singles.contains(scalar.value) { return single }
    return letter | (withMarks.contains(scalar.value) ? losesMarks : 0)
  default: return 0
  }
}

/// Full case folding, derived: Unicode defines it by these mappings, with the exceptions below.
func folded(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
  if !scalar.properties.changesWhenCaseFolded { return [scalar] }
  switch scalar.value {
  // Cherokee folds to its older letters, which are in upper case.
  case 0x13F8...0x13FD, 0xAB70...0xABBF:
    return Array(scalar.properties.uppercaseMapping.unicodeScalars)
  default: break
  }
  func mapped(_ text: String, _ map: (Unicode.Scalar.Properties) -> String) -> String {
    text.unicodeScalars.reduce(into: "") { $0.unicodeScalars += map($1.properties).unicodeScalars }
  }
  let lower = mapped(String(scalar), \.lowercaseMapping)
  let upper = mapped(lower, \.uppercaseMapping)
  return Array(mapped(upper, \.lowercaseMapping).unicodeScalars)
}

var version = (major: 0, minor: 0)
var roles: [UInt32: UInt32] = [:]
var folds: [(scalar: UInt32, to: [UInt32])] = []
for value in UInt32(0)...0x10FFFF {
  guard let scalar = Unicode.Scalar(value) else { continue }
  if let age = scalar.properties.age, (age.major, age.minor) > version { version = age }
  let decomposed = Array(String(scalar)._nfd)
  // Equal texts are cut alike, so a scalar has the role of that to which it is equal.
  var role = ownRole(decomposed[0])
  // A letter in a script is that letter, although the script of a sign may differ.
  if decomposed.count == 1, decomposed[0] == scalar { role = ownRole(scalar) }
  let isSyllable = (0xAC00...0xD7A3).contains(value)
  for part in decomposed.dropFirst() where !isSyllable {
    // So an unequal part never begins another word.
    precondition(ownRole(part) == mark || (ownRole(part) == letter && role == letter))
  }
  if role != 0 { roles[value] = role }
  let normal = Array(String(scalar)._nfc)
  guard role != 0, role != ignored, normal == [scalar] else { continue }
  var text = ""
  for part in decomposed { text.unicodeScalars += folded(part) }
  let to = text._nfc.map(\.value)
  if to != [value] { folds.append((value, to)) }
}

/// Digits of five bits, the lowest first; the sixth bit says that more follow.
func digits(_ number: UInt32) -> String {
  var rest = number
  var text = ""
  repeat {
    let digit = rest & 31
    rest >>= 5
    text.unicodeScalars.append(Unicode.Scalar(UInt8(48 + digit + (rest == 0 ? 0 : 32))))
  } while rest != 0
  return text
}

func zigzag(_ number: Int) -> UInt32 { UInt32(number < 0 ? -number * 2 - 1 : number * 2) }

var roleText = ""
var previous: UInt32 = 0
let sorted = roles.keys.sorted()
var position = 0
while position < sorted.count {
  let start = sorted[position]
  var end = position + 1
  while end < sorted.count, sorted[end] == sorted[end - 1] + 1, roles[sorted[end]] == roles[start] {
    end += 1
  }
  roleText += digits(start - previous) + digits(UInt32(end - position)) + digits(roles[start]!)
  previous = start
  position = end
}

var foldText = ""
previous = 0
for (scalar, to) in folds {
  foldText += digits((scalar - previous) * 4 + UInt32(to.count))
  for part in to { foldText += digits(zigzag(Int(part) - Int(scalar))) }
  previous = scalar
}

func lines(_ text: String) -> String {
  var result = ""
  var rest = Substring(text)
  while !rest.isEmpty {
    result += "    " + rest.prefix(94) + "\n"
    rest = rest.dropFirst(94)
  }
  return result
}

print(
  """
  // Generated by Scripts/generate-word-tables.swift; do not edit.

  /// What scalars are to words, as text: numbers in digits of five bits from the character 0 on,
  /// the lowest first, the sixth bit saying that more follow. Text, since it compiles at once.
  enum WordTables {
    static let unicodeVersion = "\(version.major).\(version.minor).0"

    /// Runs of one role: distance from the start of the run before, length, role.
    static let roles: StaticString = #\"\"\"
  \(lines(roleText))    \"\"\"#

    /// Full case folding in normal form, of scalars in normal form: four times the distance from the
    /// scalar before, plus the number of scalars; then each as its distance from the scalar, sign in
    /// the lowest bit.
    static let folds: StaticString = #\"\"\"
  \(lines(foldText))    \"\"\"#
  }
  """)
