// Builds elements. Text only ever becomes text: nothing from outside is parsed as HTML.

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element. `on…` props listen, `css` sets style properties, `true`/`false` add or leave out an attribute. */
export function h(tag, props, ...children) {
  return build(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function s(tag, props, ...children) {
  return build(document.createElementNS(SVG, tag), props, children);
}

function build(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2).toLowerCase(), value);
    else if (name === 'css') for (const [key, what] of Object.entries(value)) element.style.setProperty(key, what);
    else if (name === 'value') element.value = value;
    else if (name === 'checked') element.checked = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces all that is in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Sets the text of an element, if it is another. */
export function say(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}
