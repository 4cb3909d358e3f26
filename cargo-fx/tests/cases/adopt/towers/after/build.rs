fn main() {
    fx_passes::Build::new().run()
}
