"""What an unchanged program does on the virtual GPU, noted while it runs and made a recording of afterwards."""
