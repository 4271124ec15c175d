// What is read from RocksDB and LevelDB; the keys are in lsm.h, which is included before.

// One snapshot, in which everything is read.
typedef struct {
  bench_lsm *store;
  const LSM(snapshot_t) *snapshot;
  LSM(readoptions_t) *options;
  LSM(iterator_t) *iterator;
  bench_result *result;
} lsm_read;

static lsm_read start_read(bench_lsm *store, bool iterates, bench_result *result) {
  lsm_read read = {store, LSM(create_snapshot)(store->database), LSM(readoptions_create)(), NULL, result};
  *result = (bench_result){0, 0};
  LSM(readoptions_set_snapshot)(read.options, read.snapshot);
  if (iterates) read.iterator = LSM(create_iterator)(store->database, read.options);
  return read;
}

static int end_read(lsm_read *read, int code) {
  char *error = NULL;
  if (read->iterator != NULL) {
    LSM(iter_get_error)(read->iterator, &error);
    LSM(iter_destroy)(read->iterator);
  }
  LSM(readoptions_destroy)(read->options);
  LSM(release_snapshot)(read->store->database, read->snapshot);
  return code == 0 ? failed(error) : code;
}

static inline void add_person(bench_result *result, int64_t id, const void *bytes) {
  bench_person person;
  materialise_packed(&person, id, bytes);
  result->rows += 1;
  result->checksum += person_checksum(&person);
  person_free(&person);
}

static inline int fetch(
  bench_lsm *store, const LSM(readoptions_t) *reading, int64_t id, bench_result *result) {
  lsm_value value;
  int code = get_person(store, reading, id, &value);
  if (code != 0) return code;
  add_person(result, id, value.bytes);
  release_value(&value);
  return 0;
}

static int get(
  bench_lsm *store, const int64_t *ids, size_t count, bool in_snapshot, bench_result *result) {
  int code = 0;
  if (!in_snapshot) {
    *result = (bench_result){0, 0};
    for (size_t index = 0; code == 0 && index < count; index++) {
      code = fetch(store, store->reading, ids[index], result);
    }
    return code;
  }
  lsm_read read = start_read(store, false, result);
  for (size_t index = 0; code == 0 && index < count; index++) {
    code = fetch(store, read.options, ids[index], result);
  }
  return end_read(&read, code);
}

static int find_emails(
  bench_lsm *store, const bench_text *emails, size_t count, bench_result *result) {
  int code = 0;
  lsm_read read = start_read(store, false, result);
  for (size_t index = 0; code == 0 && index < count; index++) {
    lsm_key key;
    lsm_value value;
    make_email_key(&key, emails[index].bytes, emails[index].length);
    code = get_value(store->database, read.options, key.bytes, key.length, &value);
    if (code != 0 || value.bytes == NULL) continue;
    int64_t id = load_key_int(value.bytes);
    release_value(&value);
    code = fetch(store, read.options, id, result);
  }
  return end_read(&read, code);
}

// MARK: Walking along the keys

// What is done with the entry that the iterator stands on; false ends the walk.
typedef bool visit(lsm_read *read, const char *key, size_t length, void *state);

static void walk(lsm_read *read, const lsm_key *from, const lsm_key *prefix, visit *visit, void *state) {
  for (LSM(iter_seek)(read->iterator, from->bytes, from->length); LSM(iter_valid)(read->iterator);
       LSM(iter_next)(read->iterator)) {
    size_t length;
    const char *key = LSM(iter_key)(read->iterator, &length);
    if (length < prefix->length || memcmp(key, prefix->bytes, prefix->length) != 0) return;
    if (!visit(read, key, length, state)) return;
  }
}

// Ids that are fetched in ascending order, which is the order of the records.
typedef struct {
  int64_t *ids;
  size_t count;
  size_t capacity;
} id_list;

static void add_id(id_list *list, int64_t id) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity == 0 ? 256 : list->capacity * 2;
    list->ids = realloc(list->ids, list->capacity * sizeof *list->ids);
    if (list->ids == NULL) abort();
  }
  list->ids[list->count++] = id;
}

static int ascending(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

static int fetch_list(lsm_read *read, id_list *list) {
  int code = 0;
  if (list->count > 1) qsort(list->ids, list->count, sizeof *list->ids, ascending);
  for (size_t index = 0; code == 0 && index < list->count; index++) {
    code = fetch(read->store, read->options, list->ids[index], read->result);
  }
  free(list->ids);
  return code;
}

static bool collect_key_id(lsm_read *read, const char *key, size_t length, void *state) {
  (void)read;
  add_id(state, id_at_end(key, length));
  return true;
}

static bool collect_value_id(lsm_read *read, const char *key, size_t length, void *state) {
  (void)key;
  (void)length;
  size_t size;
  add_id(state, load_key_int(LSM(iter_value)(read->iterator, &size)));
  return true;
}

static int find_prefix(
  bench_lsm *store, const lsm_key *prefix, visit *collect, bench_result *result) {
  id_list list = {NULL, 0, 0};
  lsm_read read = start_read(store, true, result);
  walk(&read, prefix, prefix, collect, &list);
  return end_read(&read, fetch_list(&read, &list));
}

static int find_email_prefix(bench_lsm *store, bench_text prefix, bench_result *result) {
  lsm_key key;
  make_email_key(&key, prefix.bytes, prefix.length);
  return find_prefix(store, &key, collect_value_id, result);
}

static int find_city_prefix(bench_lsm *store, bench_text prefix, bench_result *result) {
  lsm_key key;
  make_city_key(&key, prefix.bytes, prefix.length);
  key.length -= 1;  // the zero that would end the city
  return find_prefix(store, &key, collect_key_id, result);
}

typedef struct {
  id_list list;
  int64_t through;
} age_range;

static bool collect_age(lsm_read *read, const char *key, size_t length, void *state) {
  (void)read;
  age_range *range = state;
  if (load_key_int(key + 1) > range->through) return false;
  add_id(&range->list, id_at_end(key, length));
  return true;
}

static int find_ages(bench_lsm *store, int64_t from, int64_t through, bench_result *result) {
  lsm_key first, prefix;
  age_range range = {{NULL, 0, 0}, through};
  lsm_read read = start_read(store, true, result);
  make_int_key(&first, AGE, from);
  start_key(&prefix, AGE);
  walk(&read, &first, &prefix, collect_age, &range);
  return end_read(&read, fetch_list(&read, &range.list));
}

static bool count_entry(lsm_read *read, const char *key, size_t length, void *state) {
  (void)key;
  (void)length;
  (void)state;
  read->result->rows += 1;
  return true;
}

static int count_ages(bench_lsm *store, int64_t from, bench_result *result) {
  lsm_key first, prefix;
  lsm_read read = start_read(store, true, result);
  make_int_key(&first, AGE, from);
  start_key(&prefix, AGE);
  walk(&read, &first, &prefix, count_entry, NULL);
  result->checksum = result->rows;
  return end_read(&read, 0);
}

static int find_companies(
  bench_lsm *store, const int64_t *companies, size_t count, bench_result *result) {
  int code = 0;
  lsm_read read = start_read(store, true, result);
  for (size_t index = 0; code == 0 && index < count; index++) {
    lsm_key prefix;
    id_list list = {NULL, 0, 0};
    make_int_key(&prefix, COMPANY, companies[index]);
    walk(&read, &prefix, &prefix, collect_key_id, &list);
    code = fetch_list(&read, &list);
  }
  return end_read(&read, code);
}

typedef struct {
  size_t left;
  int code;
} limited_fetch;

static bool fetch_limited(lsm_read *read, const char *key, size_t length, void *state) {
  limited_fetch *fetched = state;
  if (fetched->left == 0) return false;
  fetched->left -= 1;
  fetched->code = fetch(read->store, read->options, id_at_end(key, length), read->result);
  return fetched->code == 0 && fetched->left > 0;
}

static int find_cities(
  bench_lsm *store, const bench_text *cities, size_t count, size_t limit, bench_result *result) {
  int code = 0;
  lsm_read read = start_read(store, true, result);
  for (size_t index = 0; code == 0 && index < count; index++) {
    lsm_key prefix;
    limited_fetch fetched = {limit, 0};
    make_city_key(&prefix, cities[index].bytes, cities[index].length);
    walk(&read, &prefix, &prefix, fetch_limited, &fetched);
    code = fetched.code;
  }
  return end_read(&read, code);
}

// MARK: Every record

static int walk_people(bench_lsm *store, visit *visit, void *state, bench_result *result) {
  lsm_key prefix;
  lsm_read read = start_read(store, true, result);
  start_key(&prefix, PEOPLE);
  walk(&read, &prefix, &prefix, visit, state);
  return end_read(&read, 0);
}

static bool add_record(lsm_read *read, const char *key, size_t length, void *state) {
  (void)state;
  size_t size;
  add_person(read->result, id_at_end(key, length), LSM(iter_value)(read->iterator, &size));
  return true;
}

static int scan(bench_lsm *store, bench_result *result) {
  return walk_people(store, add_record, NULL, result);
}

static bool hash_record(lsm_read *read, const char *key, size_t length, void *state) {
  uint64_t *hash = state;
  bench_person person;
  size_t size;
  view_packed(&person, id_at_end(key, length), LSM(iter_value)(read->iterator, &size));
  read->result->rows += 1;
  *hash = fnv_person(*hash, &person);
  return true;
}

static int fingerprint(bench_lsm *store, bench_result *result) {
  uint64_t hash = FNV_START;
  int code = walk_people(store, hash_record, &hash, result);
  uint64_t people = result->rows;
  for (int kind = EMAIL; code == 0 && kind < END; kind++) {
    lsm_key prefix;
    bench_result entries;
    lsm_read read = start_read(store, true, &entries);
    start_key(&prefix, kind);
    walk(&read, &prefix, &prefix, count_entry, NULL);
    code = end_read(&read, 0);
    if (code == 0 && entries.rows != people) {
      snprintf(message, sizeof message, "index %d does not have an entry for each record", kind);
      code = -1;
    }
  }
  result->checksum = hash;
  return code;
}

static bool add_above(lsm_read *read, const char *key, size_t length, void *state) {
  const double *above = state;
  size_t size;
  const char *bytes = LSM(iter_value)(read->iterator, &size);
  if (packed_score(bytes) > *above) add_person(read->result, id_at_end(key, length), bytes);
  return true;
}

static int find_scores(bench_lsm *store, double above, bench_result *result) {
  return walk_people(store, add_above, &above, result);
}

typedef struct {
  double score;
  int64_t id;
} ranked_person;

typedef struct {
  ranked_person *best;
  size_t held;
  size_t limit;
} ranking;

// The best in front. Of equal scores the smaller id, which comes first, stays in front.
static bool rank(lsm_read *read, const char *key, size_t length, void *state) {
  ranking *ranking = state;
  size_t size;
  double score = packed_score(LSM(iter_value)(read->iterator, &size));
  ranked_person *best = ranking->best;
  bool is_full = ranking->held == ranking->limit;
  if (is_full && (ranking->limit == 0 || score <= best[ranking->limit - 1].score)) return true;
  size_t at = is_full ? ranking->limit - 1 : ranking->held++;
  for (; at > 0 && best[at - 1].score < score; at--) best[at] = best[at - 1];
  best[at] = (ranked_person){score, id_at_end(key, length)};
  return true;
}

static int top_scores(bench_lsm *store, size_t limit, bench_result *result) {
  ranking ranking = {malloc(limit * sizeof(ranked_person)), 0, limit};
  if (ranking.best == NULL && limit > 0) abort();
  lsm_key prefix;
  lsm_read read = start_read(store, true, result);
  start_key(&prefix, PEOPLE);
  walk(&read, &prefix, &prefix, rank, &ranking);
  int code = 0;
  for (size_t index = 0; code == 0 && index < ranking.held; index++) {
    code = fetch(store, read.options, ranking.best[index].id, result);
  }
  free(ranking.best);
  return end_read(&read, code);
}

static const bench_lsm_functions functions = {
  last_message, open_store, close_store, insert, age, delete_people, get, scan, fingerprint,
  find_emails, find_ages, find_cities, find_companies, find_email_prefix, find_city_prefix,
  count_ages, find_scores, top_scores, settle};
