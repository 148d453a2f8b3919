// Tabs by the pattern of WAI-ARIA: arrow keys move between them, one of them is in the order of Tab.

import { byId } from "./dom.js";

/**
 * Makes the tabs of a tablist work.
 *
 * @returns a function that opens the tab of a panel: `open(id, focus)`
 */
export function useTabs(list) {
  const tabs = [...list.querySelectorAll('[role="tab"]')];
  const panel = (tab) => byId(tab.getAttribute("aria-controls"));
  function open(id, focus = false) {
    for (const tab of tabs) {
      const is = panel(tab).id === id;
      tab.setAttribute("aria-selected", String(is));
      tab.tabIndex = is ? 0 : -1;
      panel(tab).hidden = !is;
      if (is && focus) tab.focus();
    }
  }
  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) open(panel(tab).id, true);
  });
  list.addEventListener("keydown", (event) => {
    const now = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined || now < 0) return;
    event.preventDefault();
    open(panel(tabs[(to + tabs.length) % tabs.length]).id, true);
  });
  return open;
}
