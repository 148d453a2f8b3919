// The dialog that asks for the token of the service. `useTokenDialog()` once, on a page with the dialog #token.

import { onToken } from "./api.js";
import { byId } from "./dom.js";

/** Asks for a token whenever the service wants one. */
export function useTokenDialog() {
  const dialog = byId("token"), value = byId("token-value"), note = byId("token-note");
  const usual = note.textContent;
  onToken((wasWrong) => new Promise((resolve) => {
    note.textContent = wasWrong ? "The service does not accept this token." : usual;
    value.setAttribute("aria-invalid", String(wasWrong));
    value.value = "";
    let given = null;
    const submit = () => { given = value.value.trim(); };
    const close = () => {
      dialog.removeEventListener("submit", submit);
      byId("token-cancel").removeEventListener("click", cancel);
      resolve(given);
    };
    const cancel = () => dialog.close();
    dialog.addEventListener("submit", submit);
    byId("token-cancel").addEventListener("click", cancel);
    dialog.addEventListener("close", close, { once: true });
    dialog.showModal();
    value.focus();
  }));
}
