// A name as parts of an element: it may be broken behind its separators, and nowhere else.
const broken = name => String(name).split(/(?<=[/_.:=@+])(?=[^/_.:=@+])/).flatMap((piece, k) => k ? [document.createElement("wbr"), piece] : [piece]);
const named = (name, more) => el("span", {class: "name" + (more || "")}, ...broken(name));
// Links to the sections that have something to show.
function navigate() {
  document.querySelectorAll("main section:not([hidden]) > h2").forEach((head, k) => {
    const section = head.parentElement; section.id = section.id || "section-" + k;
    $("sections").append(el("a", {href: "#" + section.id}, head.textContent));
  });
}
// What is wider than its place can be scrolled by keys too.
function reachable() {
  for (const box of document.querySelectorAll(".scroll, .wide, pre, #hits, aside")) {
    const more = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (more) box.tabIndex = 0; else box.removeAttribute("tabindex");
  }
}
new ResizeObserver(reachable).observe(document.body); addEventListener("load", reachable); document.addEventListener("toggle", reachable, true);
