// Numbers as text, for the generators of tables beside this file: `Scripts/generate.sh` puts it
// before each of them. `DigitReader` in Sources/Larch/Key reads the text.

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

func lines(_ text: String) -> String {
  var result = ""
  var rest = Substring(text)
  while !rest.isEmpty {
    result += "    " + rest.prefix(94) + "\n"
    rest = rest.dropFirst(94)
  }
  return result
}
