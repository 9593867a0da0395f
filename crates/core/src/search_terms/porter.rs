//! The stem of an English word by Porter's rules of 1980. Words with other letters or with digits stay
//! as they are.

/// Suffixes of step 2 and what they become, where something is measured before them.
const STEP_2: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];

/// Suffixes of step 3.
const STEP_3: &[(&str, &str)] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// Suffixes of step 4, which fall away.
const STEP_4: &[&str] = &[
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
];

/// Returns the stem of a word in lower case.
pub fn stem(word: &str) -> String {
    if word.len() < 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    plural(&mut word);
    past_and_progressive(&mut word);
    if let Some(before) = word.strip_suffix('y')
        && has_vowel(before)
    {
        word = format!("{before}i");
    }
    replace(&mut word, STEP_2);
    replace(&mut word, STEP_3);
    drop_suffix(&mut word);
    final_e(&mut word);
    if word.ends_with("ll") && measure(&word) > 1 {
        word.pop();
    }
    word
}

/// Tells for each letter whether it is a consonant: a `y` is one at the start or after a vowel.
fn consonants(word: &str) -> Vec<bool> {
    let mut all: Vec<bool> = Vec::with_capacity(word.len());
    for letter in word.bytes() {
        let after_consonant = all.last().copied().unwrap_or(false);
        all.push(match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => !after_consonant,
            _ => true,
        });
    }
    all
}

/// Counts how often a consonant follows a vowel.
fn measure(word: &str) -> usize {
    let all = consonants(word);
    all.iter().zip(all.iter().skip(1)).filter(|(first, second)| !**first && **second).count()
}

fn has_vowel(word: &str) -> bool {
    consonants(word).contains(&false)
}

fn ends_in_double_consonant(word: &str) -> bool {
    let mut letters = word.bytes().rev();
    letters.next() == letters.next()
        && word.len() > 1
        && consonants(word).last().copied().unwrap_or(false)
}

/// Tells whether the word ends in consonant, vowel, consonant, the last one none of w, x, y.
fn ends_in_short_syllable(word: &str) -> bool {
    consonants(word).ends_with(&[true, false, true]) && !word.ends_with(['w', 'x', 'y'])
}

fn plural(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
}

fn past_and_progressive(word: &mut String) {
    if let Some(before) = word.strip_suffix("eed") {
        if measure(before) > 0 {
            word.pop();
        }
        return;
    }
    let before = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing"));
    let Some(before) = before.filter(|before| has_vowel(before)) else { return };
    *word = before.to_owned();
    if word.ends_with("at") || word.ends_with("bl") || word.ends_with("iz") {
        word.push('e');
    } else if ends_in_double_consonant(word) {
        if !word.ends_with(['l', 's', 'z']) {
            word.pop();
        }
    } else if measure(word) == 1 && ends_in_short_syllable(word) {
        word.push('e');
    }
}

/// The longest suffix that fits decides, whether or not it may be replaced.
fn replace(word: &mut String, rules: &[(&str, &str)]) {
    let fitting = rules.iter().filter(|(suffix, _)| word.ends_with(suffix));
    let Some((suffix, by)) = fitting.max_by_key(|(suffix, _)| suffix.len()) else { return };
    let before = word.strip_suffix(suffix).unwrap_or(word);
    if measure(before) > 0 {
        *word = format!("{before}{by}");
    }
}

fn drop_suffix(word: &mut String) {
    let fitting = STEP_4.iter().filter(|suffix| word.ends_with(**suffix));
    let Some(suffix) = fitting.max_by_key(|suffix| suffix.len()) else { return };
    let before = word.strip_suffix(suffix).unwrap_or(word);
    let allowed = *suffix != "ion" || before.ends_with(['s', 't']);
    if allowed && measure(before) > 1 {
        *word = before.to_owned();
    }
}

fn final_e(word: &mut String) {
    let Some(before) = word.strip_suffix('e') else { return };
    let m = measure(before);
    if m > 1 || (m == 1 && !ends_in_short_syllable(before)) {
        word.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    /// The examples that were published with the rules, taken through all of them.
    const PUBLISHED: &str = "caresses caress ponies poni ties ti caress caress cats cat feed feed \
        agreed agre plastered plaster bled bled motoring motor sing sing conflated conflat \
        troubled troubl sized size hopping hop tanned tan falling fall hissing hiss fizzed fizz \
        failing fail filing file happy happi sky sky relational relat conditional condit \
        rational ration valenci valenc hesitanci hesit digitizer digit conformabli conform \
        radicalli radic differentli differ vileli vile analogousli analog vietnamization vietnam \
        predication predic operator oper feudalism feudal decisiveness decis hopefulness hope \
        callousness callous formaliti formal sensitiviti sensit sensibiliti sensibl \
        triplicate triplic formative form formalize formal electriciti electr electrical electr \
        hopeful hope goodness good revival reviv allowance allow inference infer \
        airliner airlin gyroscopic gyroscop adjustable adjust defensible defens irritant irrit \
        replacement replac adjustment adjust dependent depend adoption adopt homologou homolog \
        communism commun activate activ angulariti angular homologous homolog effective effect \
        bowdlerize bowdler probate probat rate rate cease ceas controll control roll roll \
        generalizations gener oscillators oscil toy toi syzygy syzygi";

    #[test]
    fn the_published_examples_have_their_stems() {
        let all: Vec<&str> = PUBLISHED.split_whitespace().collect();
        for pair in all.chunks(2) {
            assert_eq!(stem(pair[0]), pair[1], "{}", pair[0]);
        }
    }

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for family in [
            &["connect", "connected", "connecting", "connection", "connections"][..],
            &["migrate", "migrated", "migrates", "migrating", "migration"],
        ] {
            assert!(family.iter().all(|word| stem(word) == stem(family[0])), "{family:?}");
        }
    }

    #[test]
    fn short_words_and_words_of_other_scripts_stay() {
        for word in ["", "a", "is", "s", "éclairs", "привет", "v2s", "数"] {
            assert_eq!(stem(word), word);
        }
    }
}
