import Larch

func needsField<F: IndexableField>(_ value: F) {}

func nestedArrayIsNoField() {
  needsField([[1, 2]])  // error: conform to 'IndexKey'
}
