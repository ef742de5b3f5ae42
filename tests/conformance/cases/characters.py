"""How texts are split at each of many characters: at the ends of blocks, and within them."""

from ..spec import case

EDGES = (0x3400, 0x4DC0, 0x4E00, 0xA000, 0xF900, 0xFB00, 0x20000, 0x2A6E0, 0x2A700, 0x2CEB0,
         0x2F800, 0x2FA20)
CODES = [1, 8, *range(9, 14), 28, 31, *range(32, 128), 0x85, 0xA0, 0xAD,
         0xA1, 0xB7, 0xBF, 0xD7, 0xE9, 0x130, 0x301, 0x37E,
         0x3B1, 0x416, 0x5D0, 0x627, 0x905, 0xE01, 0x200B, 0x2010, 0x2028, 0x2030, 0x20AC, 0x2103,
         0x3000, 0x3001, 0x3042, 0x30A2, 0xAC00, 0xFEFF, 0xFF01, 0xFF10, 0x1F600,
         *(edge + step for edge in EDGES for step in (-1, 0))]
TOKENIZERS = [
    "BasicTokenizer()", "BasicTokenizer(True)", "BasicTokenizer(False, True)",
    "BasicTokenizer(False, False, text.NormalizeForm.NFKD, False)", "UnicodeScriptTokenizer()",
    "UnicodeScriptTokenizer(True)", "WhitespaceTokenizer()", "UnicodeCharTokenizer()", "CaseFold()",
    "NormalizeUTF8(text.NormalizeForm.NFKC)", "RegexReplace(r'\\w', '<$0>')",
]
BODY = """split = text.{call}
return [np.array(split('a' + chr(code) + 'b ' + chr(code) + '1')).tolist() for code in {codes}]"""
CASES = [case(BODY.format(call=call, codes=CODES[start:start + 15]))
         for call in TOKENIZERS for start in range(0, len(CODES), 15)]
