const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const LIMIT = 200;   // rows shown at once; the rest on demand
function el(tag, attrs, ...kids) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) { if (k === "onclick") e.onclick = v; else if (k === "style") e.style.cssText = v; else e.setAttribute(k, v); }
  for (const kid of kids) e.append(kid instanceof Node ? kid : document.createTextNode(String(kid)));
  return e;
}
function svg(tag, attrs, ...kids) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
  e.append(...kids); return e;
}
const bytes = b => b == null ? "unknown" : b < 1024 ? b + " B" : b < 1048576 ? (b / 1024).toFixed(1) + " KiB" : b < 1073741824 ? (b / 1048576).toFixed(1) + " MiB" : (b / 1073741824).toFixed(2) + " GiB";
const time = ns => { for (const [u, s] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) if (ns >= s) return (ns / s).toPrecision(3) + " " + u; return Math.round(ns) + " ns"; };
const plural = (n, word) => n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s");
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
