// Shows the endpoints of the API with Swagger UI. Nothing is sent to another host: no validator, no remote files.
(() => {
  const place = document.getElementById("api-docs");
  const root = document.documentElement;
  const follow = () => root.classList.toggle("dark-mode", root.dataset.bsTheme === "dark");
  new MutationObserver(follow).observe(root, { attributeFilter: ["data-bs-theme"] });
  follow();
  window.SwaggerUIBundle({
    url: place.dataset.schema,
    domNode: place,
    validatorUrl: null,
    docExpansion: "none",
    defaultModelsExpandDepth: -1,
    filter: true,
    persistAuthorization: false,
    queryConfigEnabled: false,
    // The heading and the landmarks are those of our page.
    plugins: [() => ({ wrapComponents: { InfoContainer: () => () => null } })],
    onComplete: () => {
      document.getElementById("operations")?.setAttribute("role", "presentation");
      place.dataset.ready = "true";
    },
  });
})();
