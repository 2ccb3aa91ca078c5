// Markdown of answers as HTML. No HTML of the text itself, no pictures and no links: nothing in an answer acts.
import MarkdownIt from "markdown-it";

const markdown = new MarkdownIt({ html: false, linkify: false, breaks: false }).disable(["image", "link", "autolink", "reference", "html_inline", "html_block"]);

export const render = (text: string): string => markdown.render(text);
