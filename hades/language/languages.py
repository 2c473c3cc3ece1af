"""The language of a text, by its small words or its script.

English rules apply to English only, and words are stemmed by the rules of their language. The small
words are without accents, as `language.words` reads them.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from hades.language.english.lexicon import STOP_WORDS
from hades.language.words import words

ENGLISH = "english"
CHARACTERS_READ = 400
"""The beginning of a text is enough to tell its language."""
_LETTERS_LEAST = 4
"""How many letters the small words of another language must have in total, because a single `de`
may be part of a name."""

SMALL_WORDS = {
    "german": """ab aber alle allem allen aller alles als also am an andere anderen auch auf aus bei
        beim bis bist da damit dann das dass dein deine dem den denn der des dich die diese diesem
        diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas
        euch euer eure fur furs gab gegen gerade gibt hab habe haben hat hatte hatten ich ihm ihn
        ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jeden jeder jedes jetzt kann kein
        keine keinen keiner konnen laut man mein meine meinem meinen meiner mich mir mit muss mussen
        nach neben neue neuen neuer neues nicht nichts noch nun nur ob oder ohne schon sehr sein
        seine seinem seinen seiner seit sich sie sind so soll sollen sollte sollten trotz uber um
        ums und uns unser unsere unserem unseren unserer unter viel viele vom von vor wann war waren
        warum was wegen weil welche welchem welchen welcher welches wem wen wenn wer werden weshalb
        wessen wie wieder wieso wieviel will wir wird wo woher wohin wurde wurden zu zum zur
        zwischen""",
    "french": """a ai as au aucun aux avait avant avec avons c ce ceci cela celle celui ces cet
        cette chez combien comme d dans de deja depuis des dois doit donc dont du elle elles en
        encore entre est et etait ete etre eux faut il ils j je jusqu l la laquelle le lequel les
        leur leurs lui m ma mais me meme mes moi mon n ne ni nos notre nous on ont ou par pas
        pendant pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera
        ses si son sont sous sur t ta te tes toi ton tous tout toute toutes tres tu un une va
        vers voici vos votre vous y""",
    "spanish": """a adonde ahora al algo alguien algun alguna alguno ante antes aqui asi aun
        aunque cada como con contra cual cuales cuando cuanta cuantas cuanto cuantos cuya cuyo de
        del desde donde dos e el ella ellas ellos en entre era eran es esa esas ese eso esos esta
        estaba estan estas este esto estos fue fueron ha habia han hasta hay he la las le les lo
        los mas me mi mis mucha mucho muy nada ni no nos nosotros nuestra nuestro o os otra otro
        para pero poco por porque pues que quien quienes se ser si sido sin sobre son su sus
        tambien te tenemos tengo ti tiene tienen todos tu tus un una unas uno unos va y ya yo""",
    "italian": """a ad agli ai al alla alle allo anche anno avere c che chi ci coi col come con
        cosa cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di
        dove dunque e era essere fra gia gli ha hai hanno ho i il in io l la le lei li lo loro
        lui ma mi mia mie miei mio ne negli nei nel nell nella nelle nello noi non nostra nostro
        o ogni per perche piu poi prima qual quale quali quando quanta quante quanti quanto quel
        quella quelli quello questa queste questi questo qui sara se sei si sia siamo sono sta
        stato su sua sue sugli sui sul sulla suo suoi ti tra tu tua tuo tutti tutto un una uno vi
        voi""",
    "portuguese": """a agora ainda ao aos aquela aquele as ate com como da das de dela dele deles
        depois do dos e ela elas ele eles em entre era essa esse esta estao estava este eu foi
        foram ha isso isto ja la lhe mais mas me mesmo meu meus minha minhas muito na nao nas nem
        no nos nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque pra quais
        qual quando quanta quantas quanto quantos que quem se sem ser seu seus so sobre sua suas
        tambem te tem temos tenho ter tinha tu tua um uma umas uns voce voces""",
    "dutch": """aan al alles als bij dan dat de der deze die dit doen dus een en er ge geen had
        heb hebben heeft hem het hier hij hoe hoelang hoeveel hun ik in is ja je jij jou jouw kan
        kon maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat ons onze ook
        op over te tegen tot u uit van veel voor waar waarom wanneer waren was wat we wel welk
        welke werd wie wij worden zal ze zei zelf zich zij zijn zo zonder zou""",
}
"""The small words that nearly every sentence of a language has, by the name of the language's
stemmer."""
_MARKS = {"german": "ß", "french": "œ", "spanish": "ñ¿¡", "portuguese": "ãõ"}
"""Letters and signs that no other of these languages has."""
_SCRIPTS = {"CYRILLIC": "russian", "GREEK": "greek", "ARABIC": "arabic"}
_WORDS = {language: frozenset(table.split()) for language, table in SMALL_WORDS.items()}
_ANY = frozenset[str]().union(*_WORDS.values())


@lru_cache(maxsize=1_024)
def language_of(text: str) -> str:
    """Return the language of a text; "" if the text does not show it.

    Words with a capital inside a sentence may be names and do not count, nor do words that two
    languages share.

    >>> language_of("Wo ist der Schlüssel?"), language_of("Where is it?"), language_of("Ann Lee")
    ('german', 'english', '')
    """
    read = text[:CHARACTERS_READ]
    written = [word for at, word in enumerate(words(read)) if not at or word[0].islower()]
    plain = [word.casefold() for word in written if len(word) > 1]
    known = [word for word in plain if word in _ANY and word not in STOP_WORDS]
    best = ""
    small = list[str]()
    for language, own in _WORDS.items():
        told = [word for word in known if word in own]
        told += [mark * 2 for mark in _MARKS.get(language, "") if mark in read]
        if len(told) > len(small):
            best = language
            small = told
    others = _WORDS.get(best, _ANY)
    english = sum(word in STOP_WORDS and word not in others for word in plain)
    if len(small) > english and len("".join(small)) >= _LETTERS_LEAST:
        return best
    if english:
        return ENGLISH
    letter = next((letter for word in plain for letter in word if not letter.isascii()), "")
    return _SCRIPTS.get(unicodedata.name(letter, "").split(" ")[0], "") if letter else ""


def is_foreign(text: str) -> bool:
    """Return whether a text is in another language than English."""
    return language_of(text) not in ("", ENGLISH)


def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language, without accents."""
    return _WORDS.get(language, STOP_WORDS)
