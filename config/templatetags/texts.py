"""The tags of every page: `translate` and `url`, Django's own but quicker for the usual cases, and `repeat`.

For each text of a page, Django makes a lazy object, asks it for its words, escapes them and restores percent signs.
The judging page has fifty of them. A literal needs one lookup.
"""

from django import template
from django.template import defaulttags
from django.template.base import FilterExpression, Node, NodeList, Parser, Token
from django.template.loader_tags import BlockNode
from django.templatetags.i18n import do_translate
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from home.languages import SOURCE
from web.links import address_of

register = template.Library()


def _in_language(text: str) -> str:
    """A text in the language of the page. Django searches nine catalogs for an English one."""
    return text if get_language() == SOURCE else gettext(text)


class Text(Node):
    """A literal text in the language of the page. It is part of the template, so it is not escaped."""

    def __init__(self, text: str) -> None:
        self.text = text

    def render(self, context: template.Context) -> str:
        return _in_language(self.text)


class Value(Node):
    """The text of a variable, such as the name of an action, in the language of the page."""

    def __init__(self, value: FilterExpression) -> None:
        self.value = value

    def render(self, context: template.Context) -> str:
        return conditional_escape(_in_language(self.value.resolve(context)))


class Address(defaulttags.URLNode):
    """The address of a page, which the process may have found before."""

    def render(self, context: template.Context) -> str:
        if self.kwargs or self.asvar:
            return str(super().render(context))
        args = [arg.resolve(context) for arg in self.args]
        address = address_of(self.view_name.resolve(context), *args)
        return conditional_escape(address) if context.autoescape else address


@register.tag
def url(parser: Parser, token: Token) -> Node:
    """The address of a page, as Django's tag."""
    node = defaulttags.url(parser, token)
    return Address(node.view_name, node.args, node.kwargs, node.asvar)


@register.tag("translate")
def translate(parser: Parser, token: Token) -> Node:
    """Translate a text: `{% translate "Submit" %}`. All that Django's tag takes is accepted."""
    node, (_, text, *options) = do_translate(parser, token), token.split_contents()
    is_literal = text[0] in "\"'" and text[-1] == text[0] and "\\" not in text
    if options or "%" in text:
        return node
    return Text(text[1:-1]) if is_literal else Value(parser.compile_filter(text))


@register.filter
def isolated(name: object) -> SafeString:
    """A name whose direction does not turn the text around it."""
    return format_html("<bdi>{}</bdi>", name)


@register.simple_tag(takes_context=True)
def repeat(context: template.Context, block: str) -> str:
    """Show a block of the page once more, as the title of the browser repeats the heading: `{% repeat "heading" %}`."""
    return BlockNode(block, NodeList()).render(context)
